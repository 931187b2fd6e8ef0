"""Where images have their channels: last, unless told otherwise."""
_FORMATS = ("channels_last", "channels_first")
_default = "channels_last"


def image_data_format():
    """What layers take that are given no data_format."""
    return _default


def set_image_data_format(data_format):
    """Sets where layers look for channels: 'channels_last' or 'channels_first'."""
    global _default
    _default = standardize(data_format)


def standardize(data_format):
    """The format by its full name; None is the default."""
    if data_format is None:
        return _default
    name = str(data_format).lower()
    if name not in _FORMATS:
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    return name
