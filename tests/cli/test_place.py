"""tandem place, run as a user runs it."""
import json
import os
import threading

import pytest
from test_cli import ROOT, tandem

GRAPH = {
    "nodes": [
        {"id": "a", "cost_us": {"/CPU:0": 10, "/GPU:0": 2}, "memory": 1048576},
        {"id": "b", "cost_us": {"/CPU:0": 100, "/GPU:0": 4}, "memory": 4096, "device": "/GPU:0"},
        {"id": "c", "cost_us": {"/CPU:0": 3}},
    ],
    "edges": [{"from": "a", "to": "b", "bytes": 4096}, {"from": "b", "to": "c", "bytes": 12000}],
}
MACHINE = {
    "devices": [{"name": "/CPU:0", "memory": 17179869184}, {"name": "/GPU:0", "memory": 17179869184}],
    "links": [
        {"from": "/CPU:0", "to": "/GPU:0", "latency_us": 10, "gb_per_s": 12},
        {"from": "/GPU:0", "to": "/CPU:0", "latency_us": 10, "gb_per_s": 12},
    ],
}


def run(tmp_path, graph, machine=MACHINE, *words):
    """Runs `tandem place`; a graph or machine may be given as text."""
    paths = []
    for name, value in (("graph.json", graph), ("machine.json", machine)):
        (tmp_path / name).write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        paths.append(tmp_path / name)
    return tandem("place", "--graph", paths[0], "--machine", paths[1], *words)


def changed(value, **changes):
    return {**json.loads(json.dumps(value)), **changes}


def test_the_json_has_assignment_times_and_a_reason_for_every_node(tmp_path):
    code, out, err = run(tmp_path, GRAPH, MACHINE, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["assignment"] == {"a": "/GPU:0", "b": "/GPU:0", "c": "/CPU:0"}
    assert answer["start_us"] == {"a": 0, "b": 2, "c": 17} and answer["finish_us"] == {"a": 2, "b": 6, "c": 20}
    assert answer["makespan_us"] == 20 and answer["optimal"]
    assert answer["reasons"] == {"a": "cheaper_here", "b": "requested", "c": "no_kernel"}
    assert answer["copies"] == [{"node": "b", "from": "/GPU:0", "to": "/CPU:0", "bytes": 12000, "start_us": 6, "finish_us": 17}]


def test_a_quick_search_is_another_than_that_of_people_who_wait(tmp_path):
    devices = ("/CPU:0", "/GPU:0")
    nodes = [{"id": str(i), "cost_us": {device: 1 + (i * step) % 29 for device, step in zip(devices, (7, 11))}} for i in range(80)]
    edges = [{"from": str(i * 5 % max(1, j)), "to": str(j), "bytes": 40000 * (1 + i % 3)} for j in range(1, 80) for i in (j, j + 3)]
    answers = [json.loads(run(tmp_path, {"nodes": nodes, "edges": edges}, MACHINE, "--json", *words)[1]) for words in ((), ("--quick",))]
    assert answers[0]["makespan_us"] < answers[1]["makespan_us"]


def test_two_runs_print_the_same(tmp_path):
    assert run(tmp_path, GRAPH, MACHINE, "--json") == run(tmp_path, GRAPH, MACHINE, "--json")


def test_without_json_a_table_and_a_timeline_within_a_hundred_columns_are_printed(tmp_path):
    code, out, _ = run(tmp_path, GRAPH)
    assert code == 0 and out.startswith("1 crossing, ") and "/GPU:0 > /CPU:0 |" in out and "requested" in out
    assert [line for line in out.splitlines() if len(line) > 100] == []


def test_dot_is_a_digraph(tmp_path):
    code, out, _ = run(tmp_path, GRAPH, MACHINE, "--dot")
    assert code == 0 and out.startswith("digraph") and "n1 -> n2 [color=red];" in out


def test_a_hidden_device_and_a_soft_request_give_way_with_the_reason(tmp_path):
    code, out, _ = run(tmp_path, GRAPH, MACHINE, "--json", "--soft", "--visible", "/CPU:0")
    assert code == 0 and json.loads(out)["reasons"]["b"] == "not_visible"


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "machines").glob("*.json")))
def test_every_shipped_machine_places_a_graph_given_by_its_work(tmp_path, name):
    node = {"id": "m", "work": {"op": "matmul", "dtype": "float32", "flops": 2e11, "bytes": 2e8}}
    code, out, err = run(tmp_path, {"nodes": [node]}, (ROOT / "machines" / name).read_text(), "--json")
    assert code == 0, err
    assert json.loads(out)["assignment"]["m"] == ("/CPU:0" if name == "cpu_only.json" else "/GPU:0")


NODE = {"id": "a", "cost_us": {"/CPU:0": 1}}


@pytest.mark.parametrize(
    "graph, words",
    [
        ("", "graph.json:1:"),
        ("{\n\"nodes\": [,]}", "graph.json:2:"),
        ("[" * 100000, "nested more than 32 deep"),
        ({"nodes": [changed(NODE, cost_us={"/CPU:0": -1})]}, 'nodes[0].cost_us["/CPU:0"]: needs a finite number of at least 0, got -1'),
        ('{"nodes": [{"id": "a", "cost_us": {"/CPU:0": Infinity}}]}', "graph.json:1:"),
        ('{"nodes": [{"id": "a", "cost_us": {"/CPU:0": 1e999}}]}', "graph.json:1:"),
        ('{"nodes": [{"id": "a", "cost_us": {"/CPU:0": NaN}}]}', "graph.json:1:"),
        ({"nodes": [changed(NODE, cost_us={"/TPU:0": 1})]}, 'nodes[0] "a" has a cost for /TPU:0, which the machine does not have'),
        ({"nodes": [changed(NODE, cost_us={})]}, "nodes[0].cost_us"),
        ({"nodes": [changed(NODE, id="\x1b[31m")]}, "nodes[0].id: a name has no control characters"),
        ({"nodes": [changed(NODE, id="x" * 10**6)]}, "nodes[0].id: a name of 1000000 letters; at most 1000"),
        ({"nodes": [changed(NODE, device="x" * 10**6)]}, "nodes[0].device: a name of 1000000 letters; at most 1000"),
        ({"nodes": [changed(NODE, cost_us={"x" * 10**6: 1})]}, "a name of 1000000 letters; at most 1000"),
        ({"nodes": [changed(NODE, cost_us={"\x1b[31m": 1})]}, 'nodes[0].cost_us["?[31m"]: a name has no control characters'),
        ({"nodes": [NODE], "edges": [{"from": "a", "to": "x" * 10**6}]}, "edges[0].to: a name of 1000000 letters"),
        ('{"nodes": ["' + "x" * 10**6, "missing closing quote"),
        ('{"nodes": [{"' + "x" * 10**6 + '": 1, "' + "x" * 10**6 + '": 1}]}', "appears twice"),
        ({"nodes": [changed(NODE, memory=-5)]}, "nodes[0].memory: needs a whole number of at least 0, got -5"),
        ({"nodes": [changed(NODE, memroy=5)]}, 'nodes[0].memroy: nothing is known of the key "memroy"; did you mean \'memory\'?'),
        ({"nodes": [{"id": "a", "work": {"flop": 1}}]}, "nodes[0].work.flop: nothing is known of the key \"flop\"; did you mean 'flops'?"),
        ({"nodes": [NODE], "edgse": []}, "edgse: nothing is known of the key \"edgse\"; did you mean 'edges'?"),
        ({"nodes": [NODE, NODE]}, 'nodes[1]: the id "a" was used already, by nodes[0]'),
        ({"nodes": [NODE], "edges": [{"from": "a", "to": "z", "bytes": 1}]}, 'edges[0].to: there is no node "z"'),
        ({"nodes": [NODE], "edges": [{"from": "a", "to": "a", "bytes": 1}]}, "edges[0]: the graph has a cycle"),
        (
            {"nodes": [NODE, changed(NODE, id="b")], "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]},
            'cycle at nodes[0] "a": a -> b -> a',
        ),
        ({"nodes": [changed(NODE, device="/GPU:0")]}, 'nodes[0] "a" asks for /GPU:0, which has no kernel'),
        ({"nodes": [changed(NODE, device="/GPU:3")]}, "which the machine does not have"),
        ({"nodes": [changed(NODE, memory=17179869184 + 7)]}, "7 bytes are missing"),
    ],
)
def test_a_bad_graph_is_refused_with_the_place(tmp_path, graph, words):
    code, out, err = run(tmp_path, graph, MACHINE, "--json")
    assert code == 1 and out == "" and words in err and "graph.json" in err and len(err) < 1000, err


def test_figures_that_make_a_cost_infinite_are_named_with_the_device(tmp_path):
    machine = {"devices": [{"name": "/CPU:0", "peak_gflops": {"float32": 1e-308}}]}
    code, _, err = run(tmp_path, {"nodes": [{"id": "m", "work": {"flops": 1e9}}]}, machine)
    assert code == 1 and 'nodes[0] "m" has work of 1e+09 flops' in err and "by the figures of /CPU:0 takes inf us" in err, err


def test_a_missing_link_is_named_with_what_would_help(tmp_path):
    machine = changed(MACHINE, links=MACHINE["links"][:1])
    code, _, err = run(tmp_path, GRAPH, machine)
    assert code == 1 and "add a link from /GPU:0 to /CPU:0" in err, err


def test_a_million_nodes_are_refused_without_reading_them_all(tmp_path):
    nodes = ",\n".join(f'{{"id": "n{i}", "cost_us": {{"/CPU:0": 1}}}}' for i in range(1_000_000))
    code, _, err = run(tmp_path, f'{{"nodes": [\n{nodes}]}}')
    assert code == 1 and "graph.json:200002:" in err and "more than 200000 elements" in err, err


def test_figures_that_cannot_be_added_up_name_the_machine_file_too(tmp_path):
    machine = json.loads(json.dumps(MACHINE))
    machine["links"][0]["latency_us"] = 1e308
    code, _, err = run(tmp_path, GRAPH, machine)
    assert code == 1 and "machine.json: place: the link from /CPU:0 to /GPU:0 has latency 1e+308 us" in err, err


def test_a_device_without_a_limit_holds_any_number_of_bytes(tmp_path):
    nodes = [changed(NODE, memory=8 * 10**18), changed(NODE, id="b", memory=8 * 10**18)]
    code, out, err = run(tmp_path, {"nodes": nodes, "edges": [{"from": "a", "to": "b", "bytes": 1}]}, {"devices": [{"name": "/CPU:0"}]}, "--json")
    assert code == 0 and json.loads(out)["makespan_us"] == 2, err


def test_files_may_be_pipes_but_not_endless_ones(tmp_path):
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(json.dumps(GRAPH)))
    writer.start()
    code, out, err = tandem("place", "--graph", tmp_path / "pipe", "--machine", tmp_path / "machine.json", "--json")
    writer.join()
    assert code == 0 and json.loads(out)["makespan_us"] == 20, err
    code, _, err = tandem("place", "--graph", "/dev/zero", "--machine", tmp_path / "machine.json")
    assert code == 1 and "/dev/zero has more than 1073741824 bytes" in err, err


def test_missing_options_and_files_are_named(tmp_path):
    assert tandem("place")[0] == 2
    code, _, err = tandem("place", "--graph", "/no/such.json", "--machine", "/no/such.json")
    assert code == 1 and "/no/such.json" in err


def test_a_folder_is_no_graph(tmp_path):
    code, _, err = tandem("place", "--graph", tmp_path, "--machine", ROOT / "machines/rtx3080.json")
    assert code == 1 and "is a folder" in err
