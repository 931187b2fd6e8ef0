"""tf.config. What holds for a whole process is tried in a process of its own."""
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tandemflow as tf

PACKAGE_ROOT = Path(tf.__file__).parent.parent
POCL = {"TANDEM_OPENCL_CPU_AS_GPU": "1"}


def run(code, check=True, **environment):
    """Runs a program with only these TandemFlow variables set; returns what it printed, or the process."""
    ours = ("TANDEM_", "TF_", "CUDA_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours) or key == "TANDEM_CACHE_DIR"}
    program = "import tandemflow as tf\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program], env={**kept, "PYTHONPATH": str(PACKAGE_ROOT), **environment},
        capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    if not check:
        return done
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def raised(expression, setup="", **environment):
    """The exception that an expression raises: class names and message."""
    code = f"""
    {setup}
    try:
        {expression}
        print("nothing")
    except Exception as error:
        print(" ".join(c.__name__ for c in type(error).__mro__))
        print(error)
    """
    lines = run(code, **environment)
    return lines[0], "\n".join(lines[1:])


def test_devices_print_as_tensorflows():
    assert str(tf.config.list_physical_devices("CPU")) == "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]"
    assert str(tf.config.list_logical_devices("CPU")) == "[LogicalDevice(name='/device:CPU:0', device_type='CPU')]"
    assert tf.config.list_physical_devices("TPU") == tf.config.list_physical_devices("cpu") == tf.config.list_logical_devices("cpu") == []


def test_a_cpu_serves_as_gpus_when_asked_for():
    code = """
    print(tf.config.list_physical_devices("GPU"))
    print(tf.config.get_visible_devices("GPU"))
    print(tf.config.list_logical_devices())
    print(tf.test.is_gpu_available(), tf.test.gpu_device_name(), tf.test.is_built_with_cuda())
    """
    assert run(code) == ["[]", "[]", "[LogicalDevice(name='/device:CPU:0', device_type='CPU')]", "False  False"]
    physical = "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"
    logical = "LogicalDevice(name='/device:CPU:0', device_type='CPU'), LogicalDevice(name='/device:GPU:0', device_type='GPU')"
    assert run(code, **POCL) == [physical, physical, f"[{logical}]", "True /device:GPU:0 False"]
    assert run("tf.config.experimental.set_opencl_cpu_as_gpu(1)\n" + textwrap.dedent(code))[0] == physical


def test_what_may_be_asked_again_after_it_was_listed():
    code = """
    print(len(tf.config.list_physical_devices("GPU")))
    tf.config.experimental.set_opencl_cpu_as_gpu(1)
    print(len(tf.config.list_physical_devices("GPU")))
    """
    assert run(code) == ["0", "1"]


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "TANDEM_VISIBLE_DEVICES"])
def test_the_environment_hides_devices(variable):
    code = "print(len(tf.config.list_physical_devices('GPU')))"
    for value, count in {"": 0, "-1": 0, "0": 1, "1": 0, "0,1": 1, " 0 ": 1, "-1,0": 0}.items():
        assert run(code, **POCL, **{variable: value}) == [str(count)], value
    classes, message = raised("tf.config.list_physical_devices('GPU')", **POCL, **{variable: "first"})
    assert "ValueError" in classes and f"{variable}='first'" in message and "0,2" in message


def test_names_of_nvidias_devices_hide_ours_without_an_error():
    assert run("print(len(tf.config.list_physical_devices('GPU')))", **POCL, CUDA_VISIBLE_DEVICES="GPU-8932f937-d72c") == ["0"]


def test_an_op_that_asks_for_a_hidden_device_says_so():
    code = """
    with tf.device("/GPU:0"):
        x = tf.constant([1.0]) + 1
    print(x.device, tf.explain(x, verbose=False).reason, tf.explain(x, verbose=False).requested, bool(tf.explain(x, verbose=False).remedy))
    """
    expected = ["/job:localhost/replica:0/task:0/device:CPU:0 not_visible /GPU:0 True"]
    assert run(code, **POCL, CUDA_VISIBLE_DEVICES="-1") == expected
    assert run("tf.config.set_visible_devices([], 'GPU')\n" + textwrap.dedent(code), **POCL) == expected
    assert run(code)[0].split()[1] == "device_missing"


def test_visible_devices_can_be_chosen_until_the_first_tensor():
    code = """
    gpus = tf.config.list_physical_devices("GPU")
    tf.random.set_seed(1)
    tf.config.set_visible_devices(gpus[1:], "GPU")
    print(len(tf.config.get_visible_devices()), tf.config.list_logical_devices("GPU"))
    tf.config.set_visible_devices(gpus[1:], "GPU")  # changes nothing
    try:
        tf.config.set_visible_devices(gpus, "GPU")
    except RuntimeError as error:
        print(error)
    """
    lines = run(code, TANDEM_OPENCL_CPU_AS_GPU="2", POCL_MAX_PTHREAD_COUNT="2")
    assert lines[0] == "2 [LogicalDevice(name='/device:GPU:0', device_type='GPU')]"
    assert lines[1].endswith("Visible devices cannot be modified after being initialized")


@pytest.mark.parametrize(
    "call, message",
    [
        ("tf.config.set_visible_devices([], 'GPU')", "Visible devices cannot be modified after being initialized"),
        ("tf.config.set_logical_device_configuration(gpu, [limit])", "Virtual devices cannot be modified after being initialized"),
        ("tf.config.experimental.set_memory_growth(gpu, True)", "Physical devices cannot be modified after being initialized"),
        ("tf.config.threading.set_inter_op_parallelism_threads(0)", "Inter op parallelism cannot be modified after initialization."),
        ("tf.config.threading.set_intra_op_parallelism_threads(2)", "Intra op parallelism cannot be modified after initialization."),
        ("tf.config.set_dedicated_cores(compute=[0])", "Dedicated cores cannot be modified after being initialized"),
        ("tf.config.experimental.set_opencl_shared_memory(True)", "OpenCL devices cannot be modified after being initialized"),
        ("tf.config.experimental.set_opencl_hide_fp64(True)", "OpenCL devices cannot be modified after being initialized"),
    ],
)
def test_a_call_that_comes_too_late_fails_as_tensorflows(call, message):
    setup = """gpu = tf.config.list_physical_devices("GPU")[0]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=100)
    tf.constant(1)"""
    classes, got = raised(call, setup, **POCL)
    assert "RuntimeError" in classes and message in got


@pytest.mark.parametrize(
    "call, message",
    [
        ("tf.config.set_visible_devices(['GPU:0'])", "Unrecognized device: 'GPU:0'"),
        ("tf.config.set_visible_devices('GPU:0')", "Unrecognized device: 'GPU:0'"),
        ("tf.config.set_visible_devices(None, 'GPU')", "Unrecognized device: None"),
        ("tf.config.set_visible_devices(cpu, 'GPU')", "Unrecognized device: PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"),
        ("tf.config.set_visible_devices([ghost])", "Unrecognized device: PhysicalDevice(name='/physical_device:GPU:7', device_type='GPU')"),
        ("tf.config.set_visible_devices([], 'CPU')", "the CPU cannot be hidden"),
        ("tf.config.set_logical_device_configuration(cpu, [L(memory_limit=1)])", "Setting memory limit on CPU virtual devices is currently not supported"),
        ("tf.config.set_logical_device_configuration(gpu, [L()])", "Setting memory limit is required for GPU virtual devices"),
        ("tf.config.set_logical_device_configuration(gpu, [L(0)])", "memory_limit=0"),
        ("tf.config.set_logical_device_configuration(gpu, [L(-5)])", "memory_limit=-5"),
        ("tf.config.set_logical_device_configuration(gpu, [])", "no logical devices"),
        ("tf.config.experimental.set_memory_growth(cpu, True)", "Cannot set memory growth on non-GPU and non-Pluggable devices"),
        ("tf.config.experimental.get_memory_info('GPU')", "Failed parsing device name: 'GPU'. Note a valid device string"),
        ("tf.config.experimental.get_memory_info('GPU:3')", "No matching devices found for 'GPU:3'"),
        ("tf.config.experimental.get_memory_info('CPU:0')", "Allocator stats not available for device 'CPU:0'"),
        ("tf.config.experimental.reset_memory_stats('CPU:0')", "Cannot reset memory stats for device 'CPU:0'"),
        ("tf.config.threading.set_intra_op_parallelism_threads(-1)", "Intra op parallelism of -1 threads: 0 (automatic) to 1024 are possible"),
        ("tf.config.threading.set_inter_op_parallelism_threads(10**6)", "Inter op parallelism of 1000000 threads: 0 (automatic) to 1024 are possible"),
        ("tf.config.threading.set_inter_op_parallelism_threads(2**70)", "num_threads=1180591620717411303424"),
        ("tf.config.set_logical_device_configuration(gpu, [L(10**400)])", "memory_limit=inf"),
        ("tf.config.set_dedicated_cores(compute=[999])", "core 999 is not there"),
    ],
)
def test_a_wrong_value_is_a_value_error_with_tensorflows_message(call, message):
    setup = """cpu, gpu = tf.config.list_physical_devices()
    ghost, L = tf.config.PhysicalDevice("/physical_device:GPU:7", "GPU"), tf.config.LogicalDeviceConfiguration"""
    classes, got = raised(call, setup, **POCL)
    assert "ValueError" in classes and message in got


@pytest.mark.parametrize(
    "call, message",
    [
        ("tf.config.set_logical_device_configuration(gpu, 64)", "logical_devices must be a list of LogicalDeviceConfigurations; got 64"),
        ("tf.config.set_logical_device_configuration(gpu, [64])", "logical_devices must be LogicalDeviceConfigurations; got 64"),
        ("tf.config.set_logical_device_configuration(gpu, [L('64')])", "memory_limit must be a number of MiB; got '64'"),
        ("tf.config.experimental.get_memory_info(0)", "device must be a text such as 'GPU:0'; got 0"),
        ("tf.config.experimental.reset_memory_stats(None)", "device must be a text such as 'GPU:0'; got None"),
        ("tf.config.experimental.set_links(3)", "links must be a text such as '/CPU:0>/GPU:0:gb_per_s=2'; got 3"),
        ("tf.config.experimental.set_opencl_cpu_as_gpu(1.5)", "parts must be a whole number; got 1.5"),
        ("tf.config.threading.set_intra_op_parallelism_threads('2')", "num_threads must be a whole number; got '2'"),
        ("tf.config.set_placement_policy(3)", "policy must be a text such as 'auto'; got 3"),
        ("tf.config.set_dedicated_cores(compute='0')", "compute must be a list of numbers of cores, such as [0, 1]; got '0'"),
        ("tf.config.set_dedicated_cores(data=0)", "data must be a list of numbers of cores, such as [0, 1]; got 0"),
        ("tf.config.set_dedicated_cores(driver=[0.5])", "a core of driver must be a whole number; got 0.5"),
        ("tf.debugging.set_faults(3)", "plan must be a text such as 'opencl.alloc:3'; got 3"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_what_is_needed(call, message):
    setup = """gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    L = tf.config.LogicalDeviceConfiguration"""
    classes, got = raised(call, setup)
    assert "TypeError" in classes and message in got


def test_logical_devices_divide_a_physical_one():
    code = """
    cpu, gpu = tf.config.list_physical_devices()
    L = tf.config.LogicalDeviceConfiguration
    print(tf.config.get_logical_device_configuration(gpu))
    tf.config.set_logical_device_configuration(gpu, [L(memory_limit=64), L(memory_limit=32)])
    tf.config.set_logical_device_configuration(cpu, [L(), L(), L()])
    print(tf.config.get_logical_device_configuration(gpu))
    print([d.name for d in tf.config.list_logical_devices()])
    for name in ("/GPU:1", "/CPU:2"):
        with tf.device(name):
            x = tf.ones([4]) + 1
        print(x.device, x.numpy())
    """
    assert run(code, **POCL) == [
        "None",
        "[LogicalDeviceConfiguration(memory_limit=64, experimental_priority=None, experimental_device_ordinal=None), "
        "LogicalDeviceConfiguration(memory_limit=32, experimental_priority=None, experimental_device_ordinal=None)]",
        "['/device:CPU:0', '/device:CPU:1', '/device:CPU:2', '/device:GPU:0', '/device:GPU:1']",
        "/job:localhost/replica:0/task:0/device:GPU:1 [2. 2. 2. 2.]",
        "/job:localhost/replica:0/task:0/device:CPU:2 [2. 2. 2. 2.]",
    ]


def test_memory_growth_is_kept_and_may_not_differ():
    code = """
    gpus = tf.config.list_physical_devices("GPU")
    print(tf.config.experimental.get_memory_growth(gpus[0]))
    tf.config.experimental.set_memory_growth(gpus[0], True)
    print(tf.config.experimental.get_memory_growth(gpus[0]))
    try:
        tf.config.list_logical_devices()
    except ValueError as error:
        print(error)
    """
    lines = run(code, TANDEM_OPENCL_CPU_AS_GPU="2", POCL_MAX_PTHREAD_COUNT="2")
    assert lines[:2] == ["None", "True"] and lines[2].endswith("Memory growth cannot differ between GPU devices")
    setup = """gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(64)])"""
    _, message = raised("tf.config.experimental.set_memory_growth(gpu, True)", setup, **POCL)
    assert "Cannot set memory growth on device when virtual devices configured" in message


def test_memory_and_transfers_are_counted():
    code = """
    a, b = tf.random.normal([1000, 1000]), tf.random.normal([1000, 1000])
    with tf.device("/GPU:0"):
        c = tf.matmul(a, b)
    tf.test.experimental.sync_devices()
    stats = tf.config.experimental.get_transfer_stats()
    print(sorted(stats), sorted(stats["h2d"]), stats["h2d"]["bytes"], stats["h2d"]["count"], stats["d2h"]["bytes"])
    c.numpy()
    print(tf.config.experimental.get_transfer_stats()["d2h"]["bytes"])
    before = tf.config.experimental.get_memory_info("GPU:0")
    print(before["current"] >= 12_000_000, before["peak"] >= before["current"])
    del a, b, c
    tf.config.experimental.reset_memory_stats("GPU:0")
    after = tf.config.experimental.get_memory_info("GPU:0")
    print(after["current"] < before["current"], after["peak"] < before["peak"])
    """
    assert run(code, **POCL) == ["['d2h', 'h2d'] ['bytes', 'count', 'seconds'] 8000000 2 0", "4000000", "True True", "True True"]


def test_what_is_copied_to_measure_the_machine_is_not_counted(tmp_path):
    code = """
    import numpy as np
    a = tf.constant(np.ones((1000, 1000), "float32"))
    with tf.device("/GPU:0"):
        b = a + a
    tf.test.experimental.sync_devices()
    before = tf.config.experimental.get_transfer_stats()
    c = a * a  # where it should run is asked for the first time, and measured
    tf.test.experimental.sync_devices()
    after = tf.config.experimental.get_transfer_stats()
    print(before["h2d"]["bytes"], after == before)
    """
    assert run(code, **POCL, TANDEM_CACHE_DIR=str(tmp_path)) == ["4000000 True"]
    assert list(tmp_path.rglob("*.json")), "the machine was measured"


def test_details_name_the_device_and_its_driver():
    code = """
    cpu, gpu = tf.config.list_physical_devices()
    details = tf.config.experimental.get_device_details(gpu)
    print(tf.config.experimental.get_device_details(cpu), bool(details["device_name"]), bool(details["driver_version"]))
    """
    assert run(code, **POCL) == ["{} True True"]


def test_settings_that_are_kept_have_tensorflows_defaults():
    code = """
    c = tf.config
    print(c.get_soft_device_placement(), c.experimental.get_synchronous_execution(), c.threading.get_intra_op_parallelism_threads(),
          c.threading.get_inter_op_parallelism_threads(), repr(c.optimizer.get_jit()), c.get_dedicated_cores())
    print(c.optimizer.get_experimental_options())
    c.set_soft_device_placement(False); c.experimental.set_synchronous_execution(False)
    c.threading.set_intra_op_parallelism_threads(1); c.threading.set_inter_op_parallelism_threads(3); c.optimizer.set_jit(True)
    print(c.get_soft_device_placement(), c.experimental.get_synchronous_execution(), c.threading.get_intra_op_parallelism_threads(),
          c.threading.get_inter_op_parallelism_threads(), repr(c.optimizer.get_jit()))
    tf.constant(1)
    c.set_soft_device_placement(True)  # may be changed at any time
    with tf.device("/GPU:9"):
        print((tf.constant(1) + 1).numpy())
    """
    lines = run(code)
    assert lines == ["True True 0 0 '' {'compute': [], 'driver': [], 'data': []}", "{'disable_model_pruning': False, 'disable_meta_optimizer': False}", "False False 1 3 'autoclustering'", "2"]


def test_without_soft_placement_a_missing_device_is_tensorflows_error():
    setup = "tf.config.set_soft_device_placement(False)\n    x = tf.constant([1.0])\n    scope = tf.device('/GPU:0'); scope.__enter__()"
    classes, message = raised("x + x", setup)
    assert "InvalidArgumentError" in classes
    assert "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. " in message
    assert "Supported device types [CPU]. All available devices [/job:localhost/replica:0/task:0/device:CPU:0]." in message


def test_a_device_without_float64_falls_back_and_says_why():
    code = """
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64)
    with tf.device("/GPU:0"):
        c = tf.matmul(a, a)
        tf.matmul(a, a)
    e = tf.explain(c, verbose=False)
    print(e.requested, e.device, e.reason, e.remedy)
    print("float64" in e.text)
    """
    done = run(code, check=False, **POCL, TANDEM_OPENCL_HIDE_FP64="1")
    assert done.stdout.splitlines() == ["/GPU:0 /CPU:0 no_kernel cast the operands to float32", "True"], done.stderr
    assert len(done.stderr.splitlines()) == 1 and "matmul(float64, float64)" in done.stderr and "cast the operands" in done.stderr
    classes, message = raised(
        "tf.matmul(a, a)",
        "tf.config.set_soft_device_placement(False); a = tf.ones([2, 2], tf.float64); s = tf.device('/GPU:0'); s.__enter__()",
        **POCL, TANDEM_OPENCL_HIDE_FP64="1",
    )  # fmt: skip
    assert "InvalidArgumentError" in classes and "the device has no float64" in message and "Supported device types [CPU]" in message
    assert "cast the operands to float32" in message and "ask for /GPU:0" not in message


def test_cores_are_kept_apart():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    code = """
    import os
    with tf.device("/GPU:0"):
        (tf.ones([1000]) + 1).numpy()
    masks = {}
    for thread in os.listdir("/proc/self/task"):
        masks.setdefault(tuple(sorted(os.sched_getaffinity(int(thread)))), []).append(thread)
    print(sorted(masks), sorted(os.sched_getaffinity(0)))
    """
    by_variable = run(code, **POCL, TANDEM_CPU_CORES=str(first), TANDEM_OPENCL_CORES=str(second))
    assert by_variable == [f"[({first},), ({second},)] [{first}]"]
    call = f"tf.config.set_dedicated_cores(compute=[{first}], driver=[{second}])\n"
    assert run(call + textwrap.dedent(code), **POCL) == by_variable


def test_each_thread_of_the_driver_stays_on_a_core_of_its_own():
    code = """
    import os
    before = set(os.listdir("/proc/self/task"))
    tf.config.list_physical_devices("GPU")
    print(sorted(sorted(os.sched_getaffinity(int(thread))) for thread in set(os.listdir("/proc/self/task")) - before))
    """
    cores = sorted(os.sched_getaffinity(0))
    whole_machine = cores == list(range(os.cpu_count()))
    apart = [[core] for core in cores] if whole_machine else [cores] * os.cpu_count()
    assert run(code, **POCL) == [str(apart)]


@pytest.mark.parametrize("variable", ["TANDEM_CPU_CORES", "TANDEM_OPENCL_CORES", "TANDEM_OPENCL_CPU_AS_GPU", "TANDEM_OPENCL_HIDE_FP64",
                                      "TANDEM_LOG", "TANDEM_FAULT", "TANDEM_CPU_THREADS"])  # fmt: skip
def test_a_bad_value_of_a_variable_is_named_with_what_is_needed(variable):
    classes, message = raised("tf.config.list_logical_devices()", **{variable: "some"})
    assert "ValueError" in classes and "some" in message and "needed" in message
    assert variable in message or variable == "TANDEM_FAULT"


def test_determinism_needs_a_seed():
    code = """
    tf.config.experimental.enable_op_determinism()
    try:
        tf.random.normal([2])
    except RuntimeError as error:
        print(error)
    tf.random.set_seed(1)
    print(tf.random.normal([2]).shape)
    """
    lines = run(code)
    assert "Random ops require a seed to be set when determinism is enabled." in lines[0] and lines[1] == "(2,)"


def test_scopes_of_every_kind():
    x = tf.constant([1.0])

    def requested():
        return tf.explain(x + x, verbose=False).requested

    logical = tf.config.list_logical_devices("CPU")[0]
    with tf.device("/GPU:0"):
        assert requested() == "/GPU:0"
        with tf.device(None):
            assert requested() == ""
            with tf.device(logical):
                assert requested() == "/CPU:0"
        with tf.device("/job:localhost"):
            assert requested() == "/GPU:0"
    with pytest.raises(RuntimeError, match="functions"):
        tf.device(lambda op: "/CPU:0")
    with pytest.raises(ValueError, match="Unknown attribute 'foo'"):
        tf.device("/foo")
    with pytest.raises(ValueError, match="got 5"):
        tf.device(5)


@pytest.mark.parametrize(
    "text, parts, long",
    [
        ("/gpu:1", (None, None, None, "GPU", 1), "/device:GPU:1"),
        ("cpu", (None, None, None, "CPU", None), "/device:CPU:*"),
        ("/device:GPU:*", (None, None, None, "GPU", None), "/device:GPU:*"),
        ("/job:a/replica:1/task:2/device:gpu:3", ("a", 1, 2, "GPU", 3), "/job:a/replica:1/task:2/device:GPU:3"),
        ("", (None,) * 5, ""),
    ],
)  # fmt: skip
def test_a_device_spec_is_a_name_in_parts(text, parts, long):
    spec = tf.DeviceSpec.from_string(text)
    assert (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index) == parts
    assert spec.to_string() == long and spec == tf.DeviceSpec(*parts) and hash(spec) == hash(tf.DeviceSpec(*parts))


def test_a_device_spec_is_a_scope_and_takes_parts_of_another():
    gpu = tf.DeviceSpec(device_type="GPU", device_index=0)
    x = tf.constant([1.0])
    with tf.device(gpu):
        assert tf.explain(x + x, verbose=False).requested == "/GPU:0"
    assert gpu.replace(device_index=2).make_merged_spec(tf.DeviceSpec(task=1)).to_string() == "/task:1/device:GPU:2"
    assert repr(gpu) == "<DeviceSpec(job=None, replica=None, task=None, device_type=GPU, device_index=0)>"


@pytest.mark.parametrize(
    "text, message",
    [
        ("/foo", "Unknown attribute 'foo' is encountered while parsing the device spec: '/foo'."),
        ("/cpu:0/gpu:1", "Multiple device types are not allowed while parsing the device spec: /cpu:0/gpu:1."),
        ("/task:a", "invalid literal"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_device_spec_is_refused_as_by_tensorflow(text, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        tf.DeviceSpec.from_string(text)


def test_placements_are_logged_as_tensorflow_does(capfd):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    tf.matmul(a, a)
    tf.debugging.set_log_device_placement(False)
    tf.matmul(a, a)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("I0000 00:00:")
    assert lines[0].endswith("] Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0")


def test_the_ops_of_a_traced_function_are_logged_each_time_it_runs(capfd):
    product = tf.function(lambda a: tf.reduce_sum(tf.matmul(a, a)))
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    tf.debugging.set_log_device_placement(True)
    product(a), product(a)
    tf.debugging.set_log_device_placement(False)
    lines = [line.rsplit("] ")[-1] for line in capfd.readouterr().err.splitlines()]
    assert lines.count("Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0") == 2, lines


def test_the_first_fallback_is_logged_unless_the_logger_is_quiet():
    code = """
    with tf.device("/GPU:5"):
        for _ in range(3):
            tf.constant([1.0]) + 1
    """
    loud = run(code, check=False).stderr.splitlines()
    assert len(loud) == 1 and loud[0].startswith("W0000") and "/GPU:5" in loud[0] and "tandem devices" in loud[0]
    quiet = [
        run("tf.get_logger().setLevel('ERROR')\n" + textwrap.dedent(code), check=False),
        run(code, check=False, TF_CPP_MIN_LOG_LEVEL="2"),
        run(code, check=False, TANDEM_LOG="error", TF_CPP_MIN_LOG_LEVEL="0"),
    ]
    assert [done.stderr for done in quiet] == ["", "", ""]


def test_the_logger_is_pythons():
    import logging

    logger = tf.get_logger()
    assert logger is tf.get_logger() is logging.getLogger("tandemflow") and logger.getEffectiveLevel() == logging.INFO


def test_devices_reports_what_was_turned_down(tmp_path):
    tandem = PACKAGE_ROOT.parent / "tandem"

    def report(**environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_OPENCL", "TANDEM_VISIBLE", "CUDA_"))}
        done = subprocess.run([tandem, "devices", "--json"], env={**kept, **environment}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def found(out, reason):
        return [f for f in out["findings"] if reason in f["reason"] and f["remedy"]]

    assert found(report(), "it is no GPU")
    used = report(**POCL)
    assert used["devices"][1]["name"] == "/GPU:0" and used["findings"][0]["status"] == "used" and used["platforms"][0]["devices"] == 1
    assert found(report(**POCL, CUDA_VISIBLE_DEVICES="-1"), "hidden by CUDA_VISIBLE_DEVICES='-1'")
    assert found(report(**POCL, TANDEM_FAULT="opencl.self_test:*"), "its self-test failed")
    assert found(report(**POCL, TANDEM_FAULT="opencl.info:1"), "its driver does not answer")
    unopened = report(**POCL, TANDEM_FAULT="opencl.open:1")
    assert found(unopened, "it could not be opened") and len(unopened["devices"]) == 1
    empty = report(OCL_ICD_VENDORS=str(tmp_path))
    assert empty["platforms"] == [] and len(empty["devices"]) == 1 and found(empty, "no OpenCL driver is registered there")
    (tmp_path / "missing.icd").write_text("/nowhere/libmissing.so\n")
    (tmp_path / "garbage.icd").write_text(str(tmp_path / "garbage.so"))
    (tmp_path / "garbage.so").write_bytes(b"not a library")
    (tmp_path / "bytes.icd").write_bytes(b"\xff\xfe\x00lib")
    (tmp_path / "library.icd").write_text("libm.so.6\n")
    broken = report(OCL_ICD_VENDORS=str(tmp_path), **POCL)
    assert len(found(broken, "its library does not load")) == 3 and len(broken["devices"]) == 1
    assert found(broken, "its library is no OpenCL driver: libm.so.6")


def test_a_device_that_cannot_be_opened_is_said_once_and_ops_run_on_the_cpu():
    code = """
    print(len(tf.config.list_physical_devices("GPU")))
    with tf.device("/GPU:0"):
        x = tf.constant([1.0]) + 1
    print(x.device[-5:], tf.explain(x, verbose=False).reason, len(tf.config.list_physical_devices("GPU")), tf.config.list_logical_devices("GPU"))
    """
    done = run(code, check=False, **POCL, TANDEM_FAULT="opencl.open:1")
    assert done.stdout.splitlines() == ["1", "CPU:0 device_missing 0 []"]
    assert done.stderr.count("it could not be opened: /GPU:0: opening the device failed") == 1, done.stderr


AFFINITIES = """
import os
import time

def affinities():
    found = {}
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm, open(f"/proc/self/task/{task}/status") as status:
            allowed = next(line.split()[1] for line in status if line.startswith("Cpus_allowed_list"))
            found.setdefault(comm.read().strip(), set()).add(allowed)
    return found

def named(count):
    # A thread names itself when it first runs.
    for _ in range(100):
        names = [name for name in affinities() if name.startswith("tandem-")]
        if len(names) >= count:
            break
        time.sleep(0.1)
    return sorted(names)
"""


def test_every_named_thread_runs_on_the_cores_of_its_role():
    cores = sorted(os.sched_getaffinity(0))
    code = f"""
    {textwrap.indent(AFFINITIES, "    ").strip()}
    tf.config.set_dedicated_cores(data=[{cores[0]}], compute=[{cores[-1]}])
    tf.config.threading.set_intra_op_parallelism_threads(3)
    slow = lambda x: int(x) + 1
    files = tf.data.Dataset.range(4).interleave(lambda i: tf.data.Dataset.range(100), cycle_length=2, num_parallel_calls=2)
    batches = iter(files.map(slow, num_parallel_calls=2).batch(2).prefetch(2))
    next(batches)
    tf.reduce_sum(tf.ones([1000, 1000]) * 2)
    named(5)
    found = affinities()
    names = {{name: cores for name, cores in found.items() if name.startswith("tandem-")}}
    print(sorted(names))
    print(sorted(set.union(*[cores for name, cores in names.items() if name.startswith("tandem-cpu")])))
    print(sorted(set.union(*[cores for name, cores in names.items() if not name.startswith("tandem-cpu")])))
    print(sorted(set.union(*[cores for name, cores in found.items() if not name.startswith("tandem-")])))
    """
    names, compute, data, own = run(code)
    assert names == "['tandem-cpu1', 'tandem-cpu2', 'tandem-map0', 'tandem-map1', 'tandem-prefetch']"
    assert data == f"['{cores[0]}']"
    assert compute == own == f"['{cores[-1]}']"


def test_cores_that_the_process_loses_are_noticed():
    cores = sorted(os.sched_getaffinity(0))
    code = f"""
    {textwrap.indent(AFFINITIES, "    ").strip()}
    work = lambda: tf.reduce_sum(tf.ones([1000, 1000]) * 2).numpy()
    workers = lambda: sum(name.startswith("tandem-cpu") for name in affinities())

    def until(there):
        end = time.time() + 20  # they are looked at every second, and the machine may be busy
        while (workers() > 0) != there and time.time() < end:
            work()
            time.sleep(0.1)
        return workers()

    print(until({len(cores) > 1}) > 0 or {len(cores) == 1})
    os.sched_setaffinity(0, [{cores[0]}])
    print(until(False))
    """
    assert run(code) == ["True", "0"]


def test_data_workers_keep_to_the_inter_op_setting():
    code = f"""
    {textwrap.indent(AFFINITIES, "    ").strip()}
    tf.config.threading.set_inter_op_parallelism_threads(2)
    slow = lambda x: int(x) + 1
    elements = iter(tf.data.Dataset.range(100).map(slow, num_parallel_calls=8))
    next(elements)
    named(2)
    time.sleep(0.5)
    print([name for name in named(2) if name.startswith("tandem-map")])
    """
    assert run(code) == ["['tandem-map0', 'tandem-map1']"]


def test_processes_that_a_program_starts_may_use_other_cores():
    """What PoCL is told about cores is told to it alone."""
    show = "import os; print([name for name in os.environ if name.startswith('POCL_')])"
    code = f"""
import subprocess, sys
import tandemflow as tf
tf.config.list_logical_devices()
print(subprocess.run([sys.executable, "-c", {show!r}], capture_output=True, text=True).stdout, end="")
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("POCL_")}
    environment |= {"TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_OPENCL_CORES": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
