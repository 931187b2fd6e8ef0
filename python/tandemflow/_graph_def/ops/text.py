"""Strings."""
import tandemflow as tf

from ..support import op


@op("StringLower")
def lower(node, x):
    return tf.strings.lower(x, encoding=node.text("encoding", ""))


@op("StringUpper")
def upper(node, x):
    return tf.strings.upper(x, encoding=node.text("encoding", ""))


@op("StringJoin")
def join(node, *inputs):
    return tf.strings.join(list(inputs), node.text("separator", ""))


@op("StaticRegexReplace")
def regex_replace(node, x):
    return tf.strings.regex_replace(x, node.text("pattern"), node.text("rewrite"), node.flag("replace_global") if "replace_global" in node else True)


@op("StringLength")
def length(node, x):
    return tf.strings.length(x, unit=node.text("unit", "BYTE"))


@op("StringToNumber")
def to_number(node, x):
    return tf.strings.to_number(x, node.dtype("out_type") if "out_type" in node else tf.float32)


@op("AsString")
def as_string(node, x):
    return tf.strings.as_string(x, precision=node.integer("precision", -1))


@op("StringToHashBucketFast")
def hash_bucket(node, x):
    return tf.strings.to_hash_bucket_fast(x, node.integer("num_buckets"))
