"""Tables from keys to values."""
import tandemflow as tf

from ..support import op


class Table(tf.lookup.experimental.MutableHashTable):
    """A table whose default is given with each look-up."""

    def __init__(self, key_dtype, value_dtype):
        super().__init__(key_dtype, value_dtype, "" if value_dtype == tf.string else 0)

    def fill(self, pairs):
        self._table.update(pairs)

    def find(self, keys, default):
        value = default.numpy() if default.dtype == tf.string else default.numpy().item()
        return self._find(keys, lambda key: value)


@op("HashTableV2", "MutableHashTableV2", effects=True)
def table(node):
    return Table(node.dtype("key_dtype"), node.dtype("value_dtype"))


@op("InitializeTableV2", "LookupTableImportV2", "LookupTableInsertV2", effects=True)
def insert(node, table, keys, values):
    table.insert(keys, values)
    return []


@op("InitializeTableFromTextFileV2", effects=True)
def insert_lines(node, table, filename):
    path = filename.numpy().decode()
    lines = tf.lookup.TextFileInitializer(
        path, table.key_dtype, node.integer("key_index"), table.value_dtype, node.integer("value_index"), delimiter=node.text("delimiter", "\t")
    )
    table.fill(lines.pairs())
    return []


@op("LookupTableFindV2", effects=True)
def find(node, table, keys, default):
    return table.find(keys, default)


@op("LookupTableSizeV2", effects=True)
def size(node, table):
    return table.size()
