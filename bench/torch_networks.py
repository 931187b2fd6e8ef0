"""The rows of bench/networks.cc in PyTorch: the larger ops of networks, forward and backward, by all their inputs."""
import torch
from torch.nn import functional as F

IMAGES = [(32, 56, 32), (32, 28, 64), (32, 14, 128)]
SEQUENCES = [(64, 128, 256, 4), (16, 256, 256, 4), (8, 512, 512, 8)]
ON_IMAGES = {
    "avg_pool_train": lambda x: F.avg_pool2d(x, 2),
    "max_pool_train": lambda x: F.max_pool2d(x, 2),
    "max_pool_argmax_train": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "global_avg_pool_train": lambda x: F.adaptive_avg_pool2d(x, 1),
    "global_max_pool_train": lambda x: torch.amax(x, (2, 3)),
    "resize_nearest_train": lambda x: F.interpolate(x, scale_factor=2),
    "resize_bilinear_train": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
}
# Of [batch, channels, steps], but for the norm.
ON_SEQUENCES = {"max_pool1d_train": lambda x: F.max_pool1d(x, 2), "avg_pool1d_train": lambda x: F.avg_pool1d(x, 2), "l2_normalize_train": lambda x: F.normalize(x, dim=-1)}
STEPS = [(64, 50, 32, 128), (32, 100, 64, 64), (128, 20, 128, 256)]


def _row(name, *sizes):
    return f"{name}_" + "x".join(map(str, sizes))


def _leaf(*shape, last=False):
    tensor = torch.randn(*shape) * 0.1
    return (tensor.to(memory_format=torch.channels_last) if last else tensor).requires_grad_()


def _trained(body, parameters):
    def run():
        torch.autograd.grad(body().sum(), parameters)

    return run


def bodies():
    """{row name: what to time}, made when asked for."""
    made = {}
    for batch, side, channels in IMAGES:
        def image(batch=batch, side=side, channels=channels):
            return _leaf(batch, channels, side, side, last=True)

        def conv(groups, x=image, c=channels):
            image, weight = x(), _leaf(c, c // groups, 3, 3, last=True)
            return _trained(lambda: F.conv2d(image, weight, padding=1, groups=groups), [image, weight])

        def transposed(x=image, c=channels):
            image, weight = x(), _leaf(c, c // 2, 3, 3, last=True)
            return _trained(lambda: F.conv_transpose2d(image, weight, stride=2, padding=1, output_padding=1), [image, weight])

        def of_image(function, x=image):
            image = x()
            return _trained(lambda: function(image), [image])

        def inference(x=image, c=channels):
            image, scale, offset, mean, variance = x(), _leaf(c), _leaf(c), torch.randn(c), torch.ones(c)
            return _trained(lambda: F.batch_norm(image, mean, variance, scale, offset), [image, scale, offset])

        def norm(x=image, c=channels):
            image, scale, offset = x(), _leaf(c), _leaf(c)
            return _trained(lambda: F.batch_norm(image, None, None, scale, offset, training=True), [image, scale, offset])

        sizes = (batch, side, channels)
        made[_row("conv2d_train", *sizes)] = lambda conv=conv: conv(1)
        made[_row("depthwise_train", *sizes)] = lambda conv=conv, c=channels: conv(c)
        made[_row("grouped_train", *sizes)] = lambda conv=conv: conv(4)
        made[_row("conv2d_transpose_train", *sizes)] = transposed
        made[_row("batch_norm_inference", *sizes)] = inference
        for name, function in ON_IMAGES.items():
            made[_row(name, *sizes)] = lambda of_image=of_image, function=function: of_image(function)
        made[_row("batch_norm_train", *sizes)] = norm
    for batch, steps, size, heads in SEQUENCES:
        def attention(shape=(batch, heads, steps, size // heads)):
            qkv = [_leaf(*shape) for _ in range(3)]
            return _trained(lambda: F.scaled_dot_product_attention(*qkv), qkv)

        def norm(batch=batch, steps=steps, size=size):
            x, scale, offset = _leaf(batch, steps, size), _leaf(size), _leaf(size)
            return _trained(lambda: F.layer_norm(x, (size,), scale, offset), [x, scale, offset])

        def conv1d(batch=batch, steps=steps, size=size):
            x, weight = _leaf(batch, size, steps), _leaf(size, size, 3)
            return _trained(lambda: F.conv1d(x, weight, padding=1), [x, weight])

        def of_sequence(name, batch=batch, steps=steps, size=size):
            x = _leaf(batch, steps, size) if name.startswith("l2") else _leaf(batch, size, steps)
            return _trained(lambda: ON_SEQUENCES[name](x), [x])

        made[_row("conv1d_train", batch, steps, size)] = conv1d
        for name in ON_SEQUENCES:
            made[_row(name, batch, steps, size)] = lambda of_sequence=of_sequence, name=name: of_sequence(name)
        made[_row("attention_train", batch, steps, size)] = attention
        made[_row("layer_norm_train", batch, steps, size)] = norm
    for batch, steps, inputs, units in STEPS:
        def layer(kind, batch=batch, steps=steps, inputs=inputs, units=units):
            network, x = kind(inputs, units, batch_first=True), _leaf(batch, steps, inputs)
            return _trained(lambda: network(x)[0], [x, *network.parameters()])

        made[_row("lstm_train", batch, steps, inputs, units)] = lambda layer=layer: layer(torch.nn.LSTM)
        made[_row("gru_train", batch, steps, inputs, units)] = lambda layer=layer: layer(torch.nn.GRU)
        made[_row("simple_rnn_train", batch, steps, inputs, units)] = lambda layer=layer: layer(torch.nn.RNN)
    return made


def times(wanted, best_seconds):
    """Milliseconds of the rows wanted."""
    return {name: best_seconds(make()) * 1e3 for name, make in bodies().items() if name in wanted}
