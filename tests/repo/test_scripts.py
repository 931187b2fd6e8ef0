"""The scripts: well formed, runnable, and the README's figures written as they should be."""
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess

import pytest
from check_docs import ROOT

SHELL_SCRIPTS = [
    path
    for path in (*(ROOT / "scripts").iterdir(), ROOT / ".ci/run", ROOT / "tests/install/run")
    if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
]


def load_update_readme():
    loader = importlib.machinery.SourceFileLoader("update_readme", str(ROOT / "scripts/update-readme"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_every_script_may_be_executed_and_stops_at_the_first_failure():
    assert len(SHELL_SCRIPTS) >= 8
    for script in SHELL_SCRIPTS:
        assert os.access(script, os.X_OK), script
        assert "set -euo pipefail" in script.read_text(), script


def test_every_script_is_clean_by_shellcheck():
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    result = subprocess.run(["shellcheck", *map(str, SHELL_SCRIPTS)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_figures_replace_only_what_is_between_the_markers():
    update = load_update_readme()
    rows = [{"name": "add 2x2", "value": 0.0612, "unit": "us", "reference": "PyTorch", "reference_value": 1.5, "ratio": 0.041,
             "goal": "<= 0.15"}]
    body = update.table({"machine": "two cores", "date": "2025-01-02", "rows": rows})
    assert "two cores, 2025-01-02" in body
    assert "| add 2x2 | 0.061 | us | PyTorch | 1.50 | 0.041 | <= 0.15 |" in body
    begin, end = "<!-- bench:begin -->", "<!-- bench:end -->"
    assert update.replace_between(f"a\n{begin}\nold\n{end}\nb", "new") == f"a\n{begin}\nnew\n{end}\nb"


def row(name, ratio, goal, reference="goal 1 us", reference_value=1):
    return {"name": name, "value": ratio, "unit": "us", "reference": reference, "reference_value": reference_value, "ratio": ratio, "goal": goal}


def test_the_readme_says_how_many_goals_are_met_and_which_are_not():
    update = load_update_readme()
    rows = [row("matmul_1024", 0.9, ">= 0.95"), row("eager_add_2x2", 0.7, "<= 1"), row("other", 2.0, "<= 1"), row("free", 5.0, ""),
            row("exp_1m", 0.0, "<= 1", "PyTorch", 0)]
    report = {"machine": "two cores", "date": "2025-01-02", "rows": rows}
    body = update.summary(report)
    assert "Of 3 rows with a goal 1 met it; missed: matmul_1024, other." in body
    assert "| matmul_1024 |" in body and "| eager_add_2x2 |" in body and "| other |" not in body
    (readme, (_, short)), (page, (kind, whole)) = update.bodies(report).items()
    assert (readme.name, page.name, kind) == ("README.md", "measured.md", "bench") and short == body and "| other |" in whole
    assert "[all rows](docs/measured.md)" in body


def peers_report():
    columns = {"tandemflow": {"best": 0.5}, "tensorflow": {"best": 2.0}, "torch": {"why": "wrong: differs"}}
    derived = {"to_tensorflow": 0.25, "to_fastest": 0.25, "by_median": 0.25, "fastest": "tensorflow", "of_limit": None}
    return {"machine": "two cores", "date": "2025-01-02", "rounds": 3, "quick": True, "versions": {"tensorflow": "2.21"}, "limits": {},
            "coverage": {"resolve": 0.9, "work": 0.8, "names": 10, "names_resolve": 9, "names_work": 8},
            "hybrid": {"chain": {"best": {"cpu": 1.0, "automatic": 1.0}, "ratio": 1.0}},
            "workloads": {"fit": {"doc": "fit | one epoch", "columns": columns, "derived": derived}}}  # fmt: skip


def test_the_peers_figures_go_between_markers_of_their_own():
    update = load_update_readme()
    text = "<!-- bench:begin -->a<!-- bench:end -->\n<!-- peers:begin -->old<!-- peers:end -->\nrest"
    [(page, (kind, body))] = update.bodies(peers_report()).items()
    made = update.replace_between(text, body, kind)
    assert page.name == "README.md"
    assert made.startswith("<!-- bench:begin -->a<!-- bench:end -->") and made.endswith("rest") and "old" not in made
    assert "two cores, 2025-01-02, by `scripts/bench --peers --quick`: 3 rounds" in made
    assert "| fit \\| one epoch | - | 500 ms | 2.00 s | wrong | - | - | 0.250 | 0.250 | - |" in made
    assert "90.0% by use (9 of 10)" in made and "| chain | 1.00 s | - | - | 1.00 s | 1.00 |" in made


@pytest.mark.parametrize("report", [{}, [], {"workloads": {}}])
def test_a_file_without_figures_is_refused_with_its_name(report):
    with pytest.raises(SystemExit, match="figures.json has neither"):
        load_update_readme().bodies(report, "figures.json")


def test_a_page_without_the_markers_is_refused():
    with pytest.raises(SystemExit, match="peers:begin"):
        load_update_readme().replace_between("no markers", "body", "peers")


def test_numbers_keep_the_digits_that_matter():
    number = load_update_readme().number
    assert [number(x) for x in (0.0612, 1.274, 35.41, 1240.3, 0, None)] == ["0.061", "1.27", "35.4", "1240", "0", ""]
