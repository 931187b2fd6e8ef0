"""The rules of the repository itself, and the checkers that watch them."""
import subprocess

import check_docs
import check_layers
import check_names


def test_no_include_points_up_the_layers():
    assert check_layers.check_tree() == []


def test_the_layer_check_complains_about_an_include_that_points_up():
    complaints = check_layers.check_text("tandem/core/tensor.cc", '#include "tandem/exec/eager.h"\n')
    assert complaints == ["tandem/core/tensor.cc: includes tandem/exec/eager.h; exec (row 4) is above core (row 0)"]


def test_the_layer_check_sees_angle_brackets_and_spaces():
    assert check_layers.check_text("tandem/op/a.cc", "  # include <tandem/nn/dense.h>\n")


def test_the_layer_check_allows_the_same_row_lower_rows_and_other_libraries():
    text = '#include <vector>\n#include "tandem/kernel/kernel.h"\n#include "tandem/base/error.h"\n#include <dnnl.hpp>\n'
    assert check_layers.check_text("tandem/op/a.cc", text) == []


def test_only_the_runtime_includes_a_backend():
    text = '#include "tandem/backend/cpu/loop.h"\n'
    assert check_layers.check_text("tandem/exec/eager.cc", text)
    assert check_layers.check_text("bench/matmul.cc", text)
    assert check_layers.check_text("tandem/runtime/runtime.cc", text) == []
    assert check_layers.check_text("tandem/backend/cpu/jit.cc", text) == []


def test_the_layer_check_complains_about_a_module_without_a_layer():
    assert check_layers.check_text("tandem/misc/a.cc", "")


def test_no_class_exists_twice_under_one_name():
    assert check_names.check_tree() == []


def test_the_name_check_sees_namespaces_and_passes_over_what_no_other_file_sees():
    step = "namespace tandem {\nstruct Step {\n};\n}  // namespace tandem\n"
    hidden = "namespace tandem {\nnamespace {\nstruct Step {\n};\n}  // namespace\nstruct Plan::Step {\n};\n}  // namespace tandem\n"
    assert check_names.check_texts({"a.h": step, "b.h": step}) == ["tandem::Step is defined in a.h and b.h"]
    assert check_names.check_texts({"a.h": step, "b.cc": hidden, "c.h": step.replace("tandem", "tandem::cpu")}) == []


def test_every_error_code_has_a_page():
    assert check_docs.check_error_pages() == []


def test_every_folder_with_code_has_a_readme():
    assert check_docs.check_module_readmes() == []


def test_the_documents_mention_only_files_that_exist():
    assert check_docs.check_mentioned_files() == []


def test_the_programs_in_the_readme_are_the_files_in_examples():
    assert check_docs.check_readme_programs() == []


def test_no_file_is_longer_than_its_measure():
    assert check_docs.check_lengths() == []


def test_every_source_is_laid_out_by_the_formatter():
    result = subprocess.run([check_docs.ROOT / "scripts/format", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, "scripts/format would change something:\n" + result.stderr[:3000] + result.stdout[:3000]
