"""tf.debugging: seeing where ops run, and what happens when something fails."""
from . import _names, _tandem
from .config import _devices


def set_log_device_placement(enabled):
    """On: each op writes a line with its name and device to stderr."""
    _tandem.set_log_device_placement(bool(enabled))


def get_log_device_placement():
    """Whether each op writes a line."""
    return _tandem.get_log_device_placement()


def set_faults(plan):
    """Lets named places fail on purpose: "host.alloc:3" the third time, "cache.read:*" each time,
    "cache.write:p=0.1,seed=7" now and then; several with semicolons, "" for none. See list_faults()."""
    _tandem.set_faults(_devices.word(plan, "plan", "opencl.alloc:3"))


def get_faults():
    """The plan in force."""
    return _tandem.get_faults()


def list_faults():
    """The places that can be made to fail, with what each simulates."""
    return dict(_tandem.fault_list())


_filtering = {"on": True}


def enable_traceback_filtering():
    """Says that tracebacks should leave out the library's own lines; here they always show the program's."""
    _filtering["on"] = True


def disable_traceback_filtering():
    """The opposite; tracebacks stay as they are."""
    _filtering["on"] = False


def is_traceback_filtering_enabled():
    """Which of both was called last; True at first."""
    return _filtering["on"]


def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    """From now on the first op that produces NaN or Inf is an error that names it (E0703)."""
    _tandem.check_numerics(True)


def disable_check_numerics():
    """NaN and Inf are values like others again."""
    _tandem.check_numerics(False)


__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _assertions="Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_less assert_less_equal"
        " assert_integer assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank"
        " assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes assert_type check_numerics"
        " is_numeric_tensor"
    ),
)
