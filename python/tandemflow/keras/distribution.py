"""keras.distribution: models over the devices of this machine.

DataParallel divides batches among the devices, as tf.distribute.MirroredStrategy does. ModelParallel also spreads the
variables (MirroredStrategy(sharded=True)): each lives on one device as a whole, whatever axes its layout names, and results
are those of one device.
"""
import collections.abc
import contextlib
import math
import re

import numpy as np

from .. import config

_chosen = None


def list_devices(device_type=None):
    """ "gpu:0", … : GPUs where there are any, else the CPU; or those of a type."""
    kind = device_type.upper() if device_type else None
    found = config.list_logical_devices(kind) if kind else config.list_logical_devices("GPU") or config.list_logical_devices("CPU")
    return [f"{device.device_type.lower()}:{device.name.rpartition(':')[2]}" for device in found]


def get_device_count(device_type=None):
    """How many list_devices names."""
    return len(list_devices(device_type))


def initialize(job_addresses=None, num_processes=None, process_id=None):
    """For one process there is nothing to do; several are for tf.distribute.MultiWorkerMirroredStrategy."""
    several = num_processes not in (None, 1) or "," in (job_addresses or "")
    if several:
        raise NotImplementedError(
            f"keras.distribution works within one process, got job_addresses={job_addresses!r}, num_processes={num_processes}; "
            "for several use tf.distribute.MultiWorkerMirroredStrategy"
        )


class DeviceMesh:
    """Devices in the order of an array with named axes."""

    def __init__(self, shape, axis_names, devices=None):
        if not shape or not axis_names:
            raise ValueError(f"Shape and axis_names cannot be empty. Received: shape={shape}, axis_names={axis_names}")
        if len(shape) != len(axis_names):
            raise ValueError(f"Shape and axis_names should have same size. Received: shape={shape}, axis_names={axis_names}")
        devices = np.array(list_devices() if devices is None else devices)
        if math.prod(shape) != devices.size:
            raise ValueError(f"Shape does not match the number of devices. Received: shape={shape}; devices.shape={devices.shape}")
        self.shape, self.axis_names, self.devices = shape, axis_names, devices.reshape(shape)

    def __repr__(self):
        return f"<DeviceMesh shape={self.shape}, axis_names={self.axis_names}>"


class TensorLayout:
    """Along which axes of a mesh the axes of a tensor are divided; None: not."""

    def __init__(self, axes, device_mesh=None):
        self.axes, self._mesh = tuple(axes), None
        if device_mesh is not None:
            self.device_mesh = device_mesh

    @property
    def device_mesh(self):
        return self._mesh

    @device_mesh.setter
    def device_mesh(self, mesh):
        if self._mesh is not None:
            raise ValueError(f"Cannot override device mesh value. Existing value is {self._mesh}")
        named = set(self.axes) - {None}
        if named - set(mesh.axis_names):
            raise ValueError(f"Invalid axis names for Layout. Valid axis names: {set(mesh.axis_names)}, Got {named}")
        self._mesh = mesh

    def __repr__(self):
        return f"<TensorLayout axes={self.axes}, device_mesh={self._mesh}>"


class LayoutMap(collections.abc.MutableMapping):
    """Layouts by the paths of variables; keys are regular expressions."""

    def __init__(self, device_mesh):
        self.device_mesh, self._layouts = device_mesh, {}

    def __getitem__(self, key):
        if key in self._layouts:
            return self._layouts[key]
        matching = [pattern for pattern in self._layouts if re.fullmatch(pattern, key)]
        if len(matching) > 1:
            raise ValueError(f"Path '{key}' matches multiple layout specification keys: {matching}. At most one may match.")
        return self._layouts[matching[0]] if matching else None

    def __setitem__(self, key, layout):
        if key in self._layouts:
            raise ValueError(f"{key} already exist in the LayoutMap with value {self._layouts[key]}. Please make sure to not use duplicated keys.")
        layout = TensorLayout(layout) if isinstance(layout, tuple) else layout
        if not isinstance(layout, TensorLayout):
            raise ValueError(f"{layout} should be a TensorLayout type, got {type(layout)}")
        if layout.device_mesh is None and self.device_mesh is not None:
            layout.device_mesh = self.device_mesh
        self._layouts[key] = layout

    def __delitem__(self, key):
        del self._layouts[key]

    def __len__(self):
        return len(self._layouts)

    def __iter__(self):
        return iter(self._layouts)


class Distribution:
    """A mesh, and the axis of it along which batches are divided."""

    _shards_variables = False

    def __init__(self, device_mesh, batch_dim_name=None, auto_shard_dataset=True):
        self.device_mesh, self.batch_dim_name, self.auto_shard_dataset = device_mesh, batch_dim_name, auto_shard_dataset
        self._made = None

    @property
    def num_model_replicas(self):
        return self.device_mesh.devices.size

    def _strategy(self):
        """What trains over the devices; None for a single one."""
        from ..distribute import MirroredStrategy

        devices = [f"/{name.upper()}" for name in self.device_mesh.devices.ravel().tolist()]
        if self._made is None and len(devices) > 1:
            self._made = MirroredStrategy(devices, sharded=self._shards_variables)
        return self._made

    @contextlib.contextmanager
    def scope(self):
        """Models made inside are distributed so."""
        before = distribution()
        set_distribution(self)
        try:
            yield
        finally:
            set_distribution(before)

    def get_data_layout(self, data_shape):
        return TensorLayout([self.batch_dim_name] + [None] * (len(data_shape) - 1), self.device_mesh)

    def get_variable_layout(self, variable):
        return TensorLayout([None] * len(variable.shape), self.device_mesh)

    def get_tensor_layout(self, path):
        return None

    def distribute_dataset(self, dataset):
        """As it is: the steps divide its batches."""
        return dataset

    def __repr__(self):
        return f"<{type(self).__name__} device_mesh={self.device_mesh}>"


class DataParallel(Distribution):
    """The model on every device, each with a part of the batch."""

    def __init__(self, device_mesh=None, devices=None, auto_shard_dataset=True):
        if device_mesh is not None and not isinstance(device_mesh, DeviceMesh):
            raise ValueError(f"Expect `mesh` to be an instance of `DeviceMesh`. Received: mesh={device_mesh} (of type {type(device_mesh)})")
        if device_mesh is None:
            devices = np.array(list(devices) if devices is not None and len(devices) else list_devices())
            device_mesh = DeviceMesh(devices.shape, ["batch"], devices)
        super().__init__(device_mesh, device_mesh.axis_names[0], auto_shard_dataset)


class ModelParallel(Distribution):
    """The variables spread over the devices, and each device with a part of the batch."""

    _shards_variables = True

    def __init__(self, *, layout_map=None, batch_dim_name=None, auto_shard_dataset=True, **kwargs):
        if layout_map is None:
            raise ValueError("You must specify a layout_map argument.")
        if not isinstance(layout_map, LayoutMap):
            raise ValueError(f"Argument `layout_map` must be a `LayoutMap` instance. Received: layout_map={layout_map}")
        super().__init__(layout_map.device_mesh, batch_dim_name or layout_map.device_mesh.axis_names[0], auto_shard_dataset)
        self._layout_map = layout_map

    @property
    def num_model_replicas(self):
        return self.device_mesh.shape[list(self.device_mesh.axis_names).index(self.batch_dim_name)]

    def get_variable_layout(self, variable):
        return self._layout_map[variable.path] or super().get_variable_layout(variable)

    def get_tensor_layout(self, path):
        return self._layout_map[path]


def distribution():
    """What set_distribution chose, or None."""
    return _chosen


def set_distribution(value):
    """Models made from now on are distributed so; None: on one device again."""
    global _chosen
    if value is not None and not isinstance(value, Distribution):
        raise ValueError(f"set_distribution: expected a DataParallel or ModelParallel, or None, got {value!r}")
    strategy = None if value is None else value._strategy()
    if strategy is not None or _chosen is not None:
        from ..distribute import experimental_set_strategy

        experimental_set_strategy(strategy)
    _chosen = value


def distribute_tensor(tensor, layout):
    """The tensor as it is: steps place what they read."""
    return tensor
