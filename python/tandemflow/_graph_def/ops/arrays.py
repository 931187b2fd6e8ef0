"""Constants, shapes, slices, joins and gathers."""
import tandemflow as tf

from ..support import integer, ints, op, plain

plain(
    Fill=tf.fill, BroadcastTo=tf.broadcast_to, Range=tf.range, LinSpace=tf.linspace, ZerosLike=tf.zeros_like, OnesLike=tf.ones_like, Tile=tf.tile,
    Transpose=tf.transpose, Reshape=tf.reshape, GatherNd=tf.gather_nd, ScatterNd=tf.scatter_nd, TensorScatterUpdate=tf.tensor_scatter_nd_update,
    TensorScatterAdd=tf.tensor_scatter_nd_add, Slice=tf.slice, ReverseV2=tf.reverse, Roll=tf.roll, Where=tf.where, InvertPermutation=tf.math.invert_permutation,
    DiagV2=tf.linalg.diag, Diag=tf.linalg.tensor_diag, MatrixDiagPart=tf.linalg.diag_part, BroadcastArgs=tf.broadcast_dynamic_shape, Rank=tf.rank,
)  # fmt: skip


@op("Const", "HostConst")
def constant(node):
    return node.tensor()


@op("Shape")
def shape(node, x):
    return tf.shape(x, node.dtype("out_type") if "out_type" in node else tf.int32)


@op("ShapeN")
def shapes(node, *inputs):
    return [tf.shape(x, node.dtype("out_type") if "out_type" in node else tf.int32) for x in inputs]


@op("Size")
def size(node, x):
    return tf.size(x, node.dtype("out_type") if "out_type" in node else tf.int32)


@op("ExpandDims")
def expand_dims(node, x, axis):
    return tf.expand_dims(x, integer(axis, node))


@op("Squeeze")
def squeeze(node, x):
    axes = node.list("squeeze_dims") if "squeeze_dims" in node else []
    return tf.squeeze(x, axes or None)


@op("ConcatV2")
def concat(node, *inputs):
    return tf.concat(list(inputs[:-1]), integer(inputs[-1], node))


@op("Concat")
def concat_first(node, axis, *inputs):
    return tf.concat(list(inputs), integer(axis, node))


@op("Pack")
def pack(node, *inputs):
    return tf.stack(list(inputs), node.integer("axis", 0))


@op("Unpack")
def unpack(node, x):
    return tf.unstack(x, node.integer("num"), node.integer("axis", 0))


@op("Split")
def split(node, axis, x):
    return tf.split(x, node.integer("num_split"), integer(axis, node))


@op("SplitV")
def split_by_sizes(node, x, sizes, axis):
    return tf.split(x, ints(sizes, node), integer(axis, node))


@op("StridedSlice")
def strided_slice(node, x, begin, end, strides):
    masks = {name: node.integer(name, 0) for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}
    return tf.strided_slice(x, begin, end, strides, **masks)


@op("GatherV2", "Gather", "ResourceGather")
def gather(node, params, indices, axis=None):
    return tf.gather(params, indices, axis=0 if axis is None else integer(axis, node), batch_dims=node.integer("batch_dims", 0))


@op("ResourceGatherNd")
def gather_nd(node, params, indices):
    return tf.gather_nd(params, indices)


@op("Pad", "PadV2", "MirrorPad")
def pad(node, x, paddings, value=0):
    return tf.pad(x, paddings, node.text("mode", "CONSTANT"), value)


@op("OneHot")
def one_hot(node, indices, depth, on_value, off_value):
    return tf.one_hot(indices, integer(depth, node), on_value, off_value, node.integer("axis", -1), node.dtype())


@op("MatrixDiagV3")
def matrix_diag(node, diagonal, k, rows, columns, padding):
    return tf.linalg.diag(diagonal, k=integer(k, node), num_rows=integer(rows, node), num_cols=integer(columns, node), padding_value=padding)


@op("MatrixBandPart")
def band_part(node, x, lower, upper):
    return tf.linalg.band_part(x, integer(lower, node), integer(upper, node))


@op("Unique", "UniqueV2", outputs=("y", "idx"))
def unique(node, x, axis=None):
    return list(tf.unique(x))


@op("SpaceToDepth", "DepthToSpace")
def blocks(node, x):
    function = tf.nn.space_to_depth if node.op == "SpaceToDepth" else tf.nn.depth_to_space
    return function(x, node.integer("block_size"), node.text("data_format", "NHWC"))


@op("SpaceToBatchND", "BatchToSpaceND")
def batches(node, x, block_shape, edges):
    function = tf.space_to_batch if node.op == "SpaceToBatchND" else tf.batch_to_space
    return function(x, block_shape, edges)


@op("ReverseSequence")
def reverse_sequence(node, x, lengths):
    return tf.reverse_sequence(x, lengths, node.integer("seq_dim"), node.integer("batch_dim", 0))


@op("DynamicStitch")
def dynamic_stitch(node, *inputs):
    half = len(inputs) // 2
    return tf.dynamic_stitch(list(inputs[:half]), list(inputs[half:]))
