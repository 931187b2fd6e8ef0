"""Values that differ from replica to replica."""
import enum
import functools


class DistributedValues(tuple):
    """One value for each replica, in the order of the replicas."""

    _fields = ()  # so that traced functions take it apart and put it together again
    replicas = None  # the numbers of those whose values these are; None: all

    def __new__(cls, *values):
        return super().__new__(cls, values)

    @property
    def values(self):
        return tuple(self)

    def __str__(self):
        return "PerReplica:{\n" + ",\n".join(f"  {i}: {value!s}" for i, value in enumerate(self)) + "\n}"

    def __repr__(self):
        return "PerReplica:{\n" + ",\n".join(f"  {i}: {value!r}" for i, value in enumerate(self)) + "\n}"


class PerReplica(DistributedValues):
    """What `run` returned in each replica, or what each is given."""


@functools.lru_cache(maxsize=None)
def _per_replica_of(replicas):
    """For values of these replicas alone: the others had no rows. A class, because traced functions keep that of a value."""
    return type("PerReplica", (PerReplica,), {"replicas": replicas, "__qualname__": f"PerReplica of {replicas}"})


class InputContext:
    """For whom a dataset is made."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def __str__(self):
        return f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"

    def get_per_replica_batch_size(self, global_batch_size):
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync!r} "
            )
        return global_batch_size // self.num_replicas_in_sync


class InputReplicationMode(enum.Enum):
    """Whether replicas take turns with one dataset or have one each."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions:
    """TensorFlow's options; batches are always fetched by the plan that uses them."""

    def __init__(self, experimental_fetch_to_device=None, experimental_replication_mode=None,
                 experimental_place_dataset_on_device=False, experimental_per_replica_buffer_size=1):  # fmt: skip
        self.experimental_fetch_to_device = experimental_fetch_to_device
        self.experimental_replication_mode = experimental_replication_mode
        self.experimental_place_dataset_on_device = experimental_place_dataset_on_device
        self.experimental_per_replica_buffer_size = experimental_per_replica_buffer_size

    @staticmethod
    def by_replica(options):
        """Whether each replica is to have a dataset of its own."""
        return getattr(options, "experimental_replication_mode", None) is InputReplicationMode.PER_REPLICA


class RunOptions:
    """TensorFlow's options of `strategy.run`: they tell compilers for TPUs what is done here in any case."""

    def __init__(self, experimental_enable_dynamic_batch_size=True, experimental_bucketizing_dynamic_shape=False, experimental_xla_options=None):
        self.experimental_enable_dynamic_batch_size = experimental_enable_dynamic_batch_size
        self.experimental_bucketizing_dynamic_shape = experimental_bucketizing_dynamic_shape
        self.experimental_xla_options = experimental_xla_options


def map_replicas(function, structure):
    """The structure with function(value) for every PerReplica value, and everything else as it is."""
    if isinstance(structure, DistributedValues):
        return function(structure)
    if isinstance(structure, dict):
        return {key: map_replicas(function, value) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        items = [map_replicas(function, item) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return items if isinstance(structure, list) else tuple(items)
    return structure


def select(structure, replica):
    """What one replica sees."""
    return map_replicas(lambda values: values[replica if values.replicas is None else values.replicas.index(replica)], structure)


def regroup(results, replicas=None, always=False):
    """Nested results of all replicas, or of those with these numbers -> one nested structure of PerReplica values; what is the same
    object in all is not repeated, unless `always`."""
    first = results[0]
    if isinstance(first, dict):
        return {key: regroup([result[key] for result in results], replicas, always) for key in first}
    if isinstance(first, (list, tuple)) and not isinstance(first, DistributedValues):
        items = [regroup([result[i] for result in results], replicas, always) for i in range(len(first))]
        if hasattr(first, "_fields"):
            return type(first)(*items)
        return items if isinstance(first, list) else tuple(items)
    same = not always and len(results) > 1 and all(result is first for result in results)
    if same or first is None and len(results) == 1:
        return first
    return (PerReplica if replicas is None else _per_replica_of(replicas))(*results)
