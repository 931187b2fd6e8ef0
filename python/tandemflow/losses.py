"""tf.losses: the losses of Keras."""


def __getattr__(name):
    from .keras import losses

    return getattr(losses, name)


def __dir__():
    from .keras import losses

    return dir(losses)
