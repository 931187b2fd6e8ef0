"""Strategies over several machines, for the one that is here; and what is said where more would be needed."""
import json
import os

from ._mirrored import MirroredStrategy


def _workers():
    """How many machines TF_CONFIG names; one without it."""
    cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {})
    return sum(len(addresses) for job, addresses in cluster.items() if job in ("chief", "worker")) or 1


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """MirroredStrategy over the devices of this machine: what TensorFlow's does where TF_CONFIG names no other."""

    def __init__(self, cluster_resolver=None, communication_options=None):
        count = _workers()
        if count > 1:
            raise NotImplementedError(
                f"TF_CONFIG names {count} workers, but training over several machines is not supported; unset it to train on the "
                "devices of this one, or use tf.distribute.MirroredStrategy"
            )
        super().__init__()


class CentralStorageStrategy(MirroredStrategy):
    """Variables on the host, replicas on the GPUs: where MirroredStrategy keeps them anyway."""

    def __init__(self, compute_devices=None, parameter_device=None):
        super().__init__(compute_devices)


class CommunicationImplementation:
    """How machines would exchange values; taken and ignored, since there is one."""

    AUTO, RING, NCCL = "AUTO", "RING", "NCCL"


class CommunicationOptions:
    """Taken and ignored, since there is one machine."""

    def __init__(self, bytes_per_pack=0, timeout_seconds=None, implementation=CommunicationImplementation.AUTO):
        self.bytes_per_pack, self.timeout_seconds, self.implementation = bytes_per_pack, timeout_seconds, implementation


CollectiveCommunication = CommunicationImplementation
