"""Input pipelines: from arrays in memory to batches."""
from ..workload import Workload, labels, normal


class Batches(Workload):
    """from_tensor_slices(data).batch(1024), each batch summed, which reads it."""

    raw = True
    BATCH = 1024

    def __init__(self, rows, features):
        self.name, self.shape = f"pipeline_{rows}x{features}", (rows, features)
        self.doc = f"{rows:,} × {features} in batches of {self.BATCH}, each read"
        self.bytes = 4 * rows * features  # read once: batches need not be copies

    def inputs(self, rng):
        return {"data": normal(rng, *self.shape)}

    def tf(self, tf, data):
        dataset = tf.data.Dataset.from_tensor_slices(data).batch(self.BATCH)
        return lambda: [tf.reduce_sum(batch) for batch in dataset]

    def torch(self, torch, data):
        dataset = torch.utils.data.TensorDataset(torch.from_numpy(data.copy()))
        loader = torch.utils.data.DataLoader(dataset, batch_size=self.BATCH)
        return lambda: [torch.sum(batch) for (batch,) in loader]

    def jax(self, jax, data):
        total = jax.jit(jax.numpy.sum)
        return lambda: [total(data[i : i + self.BATCH]) for i in range(0, len(data), self.BATCH)]

    def numpy(self, np, data):
        return lambda: [np.sum(data[i : i + self.BATCH]) for i in range(0, len(data), self.BATCH)]


class MapShuffleBatch(Workload):
    """Shuffled, scaled element by element, batched, prefetched: what most training programs write."""

    raw = True
    tolerance = 1e-3
    SHUFFLE = 10_000

    def __init__(self, rows, features, batch=32):
        self.name, self.shape, self.batch = f"data_map_shuffle_{rows}x{features}", (rows, features), batch
        self.doc = f"{rows:,} × {features} and labels: shuffle, map, batch({batch}), prefetch"
        self.bytes = 2 * 4 * rows * (features + 1)
        self.long = True

    def inputs(self, rng):
        return {"data": normal(rng, *self.shape) + 1, "targets": labels(rng, self.shape[0], 10)}

    def tf(self, tf, data, targets):
        dataset = tf.data.Dataset.from_tensor_slices((data, targets)).shuffle(self.SHUFFLE)
        dataset = dataset.map(lambda x, y: (x * 0.5 - 1.0, y), num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.batch(self.batch).prefetch(tf.data.AUTOTUNE)
        return lambda: self.totals((x.numpy(), y.numpy()) for x, y in dataset)

    def torch(self, torch, data, targets):
        class Scaled(torch.utils.data.Dataset):
            def __len__(self):
                return len(data)

            def __getitem__(self, i):
                return data[i] * 0.5 - 1.0, targets[i]

        loader = torch.utils.data.DataLoader(Scaled(), batch_size=self.batch, shuffle=True)
        return lambda: self.totals((x.numpy(), y.numpy()) for x, y in loader)

    @staticmethod
    def totals(batches):
        """The order differs from run to run, the sums do not."""
        count, rows, total = 0, 0, 0
        for x, y in batches:
            count, rows, total = count + 1, rows + len(x), total + int(y.sum())
        return [count, rows, total]
