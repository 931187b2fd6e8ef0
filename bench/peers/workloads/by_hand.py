"""What PyTorch and JAX programs write themselves: a dense network, and Adam with Keras' numbers."""


def torch_linear(torch, kernel, bias=True):
    layer = torch.nn.Linear(*kernel.shape, bias=bias)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(kernel).t())
        if bias:
            layer.bias.zero_()
    return layer


def torch_dense(torch, w1, w2):
    return torch.nn.Sequential(torch_linear(torch, w1), torch.nn.ReLU(), torch_linear(torch, w2))


def jax_cross_entropy(jax, logits, y):
    picked = jax.numpy.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
    return -jax.numpy.mean(picked)


def jax_dense_loss(jax):
    def loss(variables, x, y):
        w1, b1, w2, b2 = variables
        return jax_cross_entropy(jax, jax.numpy.maximum(x @ w1 + b1, 0) @ w2 + b2, y)

    return loss


def jax_adam(jax, loss, variables, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-7):
    """A jitted step (state, x, y) -> (state, loss), and the first state."""
    np, tree = jax.numpy, jax.tree_util

    def step(state, x, y):
        variables, m, v, t = state
        value, gradients = jax.value_and_grad(loss)(variables, x, y)
        t = t + 1
        m = tree.tree_map(lambda m, g: beta1 * m + (1 - beta1) * g, m, gradients)
        v = tree.tree_map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, gradients)
        scale = rate * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        variables = tree.tree_map(lambda w, m, v: w - scale * m / (np.sqrt(v) + epsilon), variables, m, v)
        return (variables, m, v, t), value

    variables = tree.tree_map(np.asarray, variables)
    zeros = tree.tree_map(np.zeros_like, variables)
    return jax.jit(step, donate_argnums=0), (variables, zeros, tree.tree_map(np.copy, zeros), np.float32(0))
