"""keras.utils.Config: settings under names, which may be frozen."""
import json

from .._engine.registry import nearest


class Config:
    """Config(rate=0.1): config.rate and config["rate"] are the same; after freeze() nothing may change."""

    def __init__(self, **kwargs):
        object.__setattr__(self, "_config", dict(kwargs))
        object.__setattr__(self, "_frozen", False)

    @property
    def frozen(self):
        """Whether changes are refused."""
        return self._frozen

    def freeze(self):
        object.__setattr__(self, "_frozen", True)

    def unfreeze(self):
        object.__setattr__(self, "_frozen", False)

    def _open(self):
        if self._frozen:
            raise ValueError("Cannot mutate attribute(s) because the config is frozen.")
        return self._config

    def as_dict(self):
        return dict(self._config)

    def to_json(self):
        return json.dumps(self._config)

    def keys(self):
        return self._config.keys()

    def values(self):
        return self._config.values()

    def items(self):
        return self._config.items()

    def get(self, keyname, value=None):
        return self._config.get(keyname, value)

    def pop(self, *args):
        return self._open().pop(*args)

    def update(self, *args, **kwargs):
        self._open().update(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__.get("_config", {}):
            raise AttributeError(f"Unknown attribute: '{name}'.{nearest(name, self.__dict__.get('_config', {}))}")
        return self._config[name]

    def __setattr__(self, name, value):
        self._open()[name] = value

    def __getitem__(self, key):
        return self._config[key]

    def __setitem__(self, key, item):
        self._open()[key] = item

    def __delitem__(self, key):
        del self._open()[key]

    def __contains__(self, item):
        return item in self._config

    def __iter__(self):
        return iter(sorted(self._config))

    def __len__(self):
        return len(self._config)

    def __repr__(self):
        return f"<Config {self._config}>"
