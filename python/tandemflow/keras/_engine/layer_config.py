"""What a layer is made of again: its configuration, the shapes it was built for, its variables in files."""
from ... import _ops, _tandem
from .. import dtype_policies
from .shape_trees import as_shape


class Configured:
    """The part of a Layer that files are made of."""

    def get_config(self):
        """What the layer is made of again; layers with arguments of their own add them."""
        from .registry import serialize_keras_object

        config = {"name": self.name, "trainable": self._trainable, "dtype": dtype_policies.serialize(self.dtype_policy)}
        if self.activity_regularizer is not None:
            config["activity_regularizer"] = serialize_keras_object(self.activity_regularizer)
        if type(self).get_config is Configured.get_config:  # a user's layer without one: its arguments
            return {**config, **self._auto_config()}
        return config

    def _auto_config(self):
        config = {}
        for name, value in self._init_arguments.items():
            if name == "kwargs" and isinstance(value, dict):
                config.update({k: v for k, v in value.items() if k not in ("name", "trainable", "dtype")})
            elif name not in ("self", "args", "name", "trainable", "dtype"):
                config[name] = value
        return config

    @classmethod
    def from_config(cls, config):
        from .registry import deserialize_keras_object

        config = dict(config)
        if isinstance(config.get("dtype"), dict):
            config["dtype"] = dtype_policies.deserialize(config["dtype"])
        if cls.get_config is Configured.get_config:
            config = {key: deserialize_keras_object(value) if isinstance(value, dict) else value for key, value in config.items()}
        return cls(**config)

    def get_build_config(self):
        shapes = self._build_shapes
        if shapes is None:
            return None
        return {"input_shape": shapes["input_shape"]} if list(shapes) == ["input_shape"] else {"shapes_dict": shapes}

    def build_from_config(self, config):
        if "input_shape" in config:
            self.build(as_shape(config["input_shape"]))
        elif "shapes_dict" in config:
            self.build(**{name: as_shape(shape) for name, shape in config["shapes_dict"].items()})
        self.built = True

    # --- Variables in files: Keras calls these for each layer ---

    def save_own_variables(self, store):
        for i, v in enumerate(self._ordered_variables()):
            store[f"{i}"] = v.numpy()

    def load_own_variables(self, store):
        variables = self._ordered_variables()
        if len(store) != len(variables):
            if variables and not store and not self.built:
                raise ValueError(f"Layer '{self.name}' was never built and thus it doesn't have any variables.")
            raise ValueError(
                f"Layer '{self.name}' expected {len(variables)} variables, but received {len(store)} variables during "
                f"loading. Expected: {[v.name for v in variables]}"
            )
        for i, variable in enumerate(variables):
            value = store[f"{i}"]
            if tuple(value.shape) != tuple(variable.shape):
                raise ValueError(
                    f"The shape of the target variable and the shape of the target value in `variable.assign(value)` must "
                    f"match. variable.shape={tuple(variable.shape)}, Received: value.shape={tuple(value.shape)}. Target "
                    f"variable: {variable.path} of layer '{self.name}'"
                )
        for i, variable in enumerate(variables):
            variable.assign(_ops.cast(_tandem.to_tensor(store[f"{i}"]), variable.dtype))
