"""tf.DeviceSpec: a device's name in parts, any of which may be open."""

_PARTS = ("job", "replica", "task", "device_type", "device_index")


class DeviceSpec:
    """`DeviceSpec(job="localhost", device_type="GPU", device_index=0)` is "/job:localhost/device:GPU:0"."""

    __slots__ = tuple("_" + part for part in _PARTS)

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self._job = None if job is None else str(job)
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        self._device_type = None if device_type is None else str(device_type)
        self._device_index = None if device_index is None else int(device_index)

    job = property(lambda self: self._job)
    replica = property(lambda self: self._replica)
    task = property(lambda self: self._task)
    device_type = property(lambda self: self._device_type)
    device_index = property(lambda self: self._device_index)

    @classmethod
    def from_string(cls, spec):
        """Of "/job:<name>/replica:<id>/task:<id>/device:GPU:<id>"; "/gpu:0" and "cpu" name devices too, and * leaves type or number open."""
        parts = {}
        for word in (spec or "").split("/"):
            name, *values = word.split(":")
            if not word:
                continue
            if name in ("job", "replica", "task") and len(values) == 1:
                parts[name] = values[0]
            elif (name == "device" and len(values) == 2) or (name.upper() in ("CPU", "GPU", "TPU") and len(values) < 2):
                kind, index = values if name == "device" else (name, values[0] if values else "*")
                if "device_type" in parts:
                    raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
                if kind != "*":
                    parts["device_type"] = kind.upper()
                if index != "*":
                    parts["device_index"] = index
            else:
                raise ValueError(f"Unknown attribute {name!r} is encountered while parsing the device spec: {spec!r}.")
        return cls(**parts)

    parse_from_string = from_string

    def to_string(self):
        """The long form, without the parts that are open."""
        text = "".join(f"/{part}:{value}" for part in ("job", "replica", "task") if (value := getattr(self, part)) is not None)
        if self.device_type is None:
            return text
        return f"{text}/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"

    def replace(self, **parts):
        """The same with other parts."""
        return type(self)(**{part: getattr(self, part) for part in _PARTS} | parts)

    def make_merged_spec(self, dev):
        """The same with the parts that `dev` has."""
        return self.replace(**{part: value for part in _PARTS if (value := getattr(dev, part)) is not None})

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"<DeviceSpec({', '.join(f'{part}={getattr(self, part)}' for part in _PARTS)})>"
