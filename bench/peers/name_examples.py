"""An example for a name: an expression that TensorFlow and TandemFlow both evaluate, whose values must agree.

x: 2 × 2 numbers, v: 6 numbers, i: integers, s: strings, image: 1 × 8 × 8 × 3, sequence: 2 × 5 × 4, labels and scores of 4
rows and 3 classes; np: NumPy; run(layer, x): the layer's output with weights 0.1, 0.2, … instead of random ones.
"""
K, L, O = "tf.keras", "tf.keras.layers", "tf.keras.ops"


def _same(prefix, names, arguments):
    """{prefix.name: prefix.name(arguments)} for names that take the same operands."""
    return {f"{prefix}.{name}": f"{prefix}.{name}({arguments})" for name in names.split()}


TENSORS = {
    "tf.constant": "tf.constant([[1, 2], [3, 4]], tf.float32)", "tf.Variable": "tf.Variable([1.0, 2.0]).assign_add([1.0, 1.0])",
    "tf.convert_to_tensor": "tf.convert_to_tensor([1.0, 2.0])", "tf.cast": "tf.cast(x, tf.int32)", "tf.shape": "tf.shape(x)",
    "tf.GradientTape": "gradient(tf, lambda a: a * a, x)", "tf.function": "tf.function(lambda a: a + 1)(x)",
    "tf.reshape": "tf.reshape(x, [-1])", "tf.expand_dims": "tf.expand_dims(x, 0)", "tf.squeeze": "tf.squeeze(x[None])",
    "tf.concat": "tf.concat([x, x], 1)", "tf.stack": "tf.stack([x, x])", "tf.unstack": "tf.unstack(x)", "tf.split": "tf.split(v, 3)",
    "tf.zeros": "tf.zeros([2, 3])", "tf.ones": "tf.ones([2, 3])", "tf.fill": "tf.fill([2], 7)", "tf.eye": "tf.eye(3)",
    "tf.range": "tf.range(2, 9, 3)", "tf.linspace": "tf.linspace(0.0, 1.0, 5)", "tf.one_hot": "tf.one_hot([0, 2], 3)",
    "tf.transpose": "tf.transpose(x)", "tf.matmul": "tf.matmul(x, x)", "tf.einsum": "tf.einsum('ij,jk->ik', x, x)",
    "tf.gather": "tf.gather(v, [0, 3])", "tf.gather_nd": "tf.gather_nd(x, [[0, 1]])", "tf.where": "tf.where(x > 2.0, x, -x)",
    "tf.argmax": "tf.argmax(x, 1)", "tf.tile": "tf.tile(x, [1, 2])", "tf.pad": "tf.pad(x, [[1, 0], [0, 1]])", "tf.repeat": "tf.repeat(v, 2)",
    "tf.reverse": "tf.reverse(v, [0])", "tf.slice": "tf.slice(x, [0, 1], [2, 1])", "tf.broadcast_to": "tf.broadcast_to(v, [2, 6])",
    "tf.clip_by_value": "tf.clip_by_value(v, 0.0, 1.0)", "tf.clip_by_norm": "tf.clip_by_norm(v, 1.0)", "tf.cumsum": "tf.cumsum(v)",
    "tf.size": "tf.size(x)", "tf.rank": "tf.rank(x)", "tf.norm": "tf.norm(v)", "tf.add_n": "tf.add_n([x, x])", "tf.meshgrid": "tf.meshgrid([1, 2], [3, 4])",
    "tf.map_fn": "tf.map_fn(lambda a: a * 2, v)", "tf.cond": "tf.cond(tf.constant(True), lambda: x, lambda: -x)",
    "tf.while_loop": "tf.while_loop(lambda a: a < 10, lambda a: [a + 3], [tf.constant(0)])",
    "tf.tensor_scatter_nd_add": "tf.tensor_scatter_nd_add(v, [[1]], [5.0])", "tf.TensorShape": "tf.TensorShape([2, None]).as_list()",
    "tf.TensorSpec": "tf.TensorSpec([2, None], tf.float32).shape.as_list()", "tf.Tensor": "isinstance(x, tf.Tensor)", "tf.newaxis": "x[:, tf.newaxis]",
    "tf.device": "device(tf, '/CPU:0', x)", "tf.Module": "tf.Module(name='m').name", "tf.py_function": "tf.py_function(lambda a: a + 1, [x], tf.float32)",
    "tf.numpy_function": "tf.numpy_function(lambda a: a + np.float32(1), [x], tf.float32)", "tf.identity": "tf.identity(x)",
    "tf.TensorArray": "tf.TensorArray(tf.float32, 2).write(0, x).write(1, x).stack()", "tf.reduce_all": "tf.reduce_all(x > 0.0)", "tf.reduce_any": "tf.reduce_any(x > 3.0)",
    "tf.logical_or": "tf.logical_or(x > 3.0, x < 2.0)", "tf.print": "tf.print('')",
    **{f"tf.{name}": f"tf.{name}.name" for name in "float32 float16 float64 int16 int32 int64 uint8 bool string".split()},
    **{f"tf.dtypes.{name}": f"tf.dtypes.{name}.name" for name in "float32 int32 int64".split()},
    **_same("tf", "reduce_mean reduce_sum reduce_max reduce_min reduce_prod square sqrt exp abs sin cos sigmoid round zeros_like ones_like", "x"),
    **_same("tf", "add maximum minimum equal not_equal greater less pow multiply", "x, x"),
    **_same("tf.math", "reduce_mean reduce_std reduce_max reduce_min reduce_sum reduce_prod log sin cos exp sqrt abs square ceil is_nan l2_normalize", "x"),
    **_same("tf.math", "add equal not_equal pow", "x, x"),
    "tf.math.argmax": "tf.math.argmax(x, 1)", "tf.math.top_k": "tf.math.top_k(v, 2)[0]", "tf.math.logical_not": "tf.math.logical_not(x > 2.0)",
    "tf.math.confusion_matrix": "tf.math.confusion_matrix([0, 1], [1, 1])", "tf.math.unsorted_segment_sum": "tf.math.unsorted_segment_sum(v, [0, 1, 0, 1, 2, 2], 3)",
    "tf.linalg.matmul": "tf.linalg.matmul(x, x)", "tf.linalg.diag_part": "tf.linalg.diag_part(x)", "tf.linalg.set_diag": "tf.linalg.set_diag(x, [9.0, 9.0])",
    "tf.nn.softmax": "tf.nn.softmax(x)", "tf.nn.relu": "tf.nn.relu(-x)", "tf.nn.sigmoid": "tf.nn.sigmoid(x)", "tf.nn.moments": "tf.nn.moments(x, [0])",
    "tf.nn.sigmoid_cross_entropy_with_logits": "tf.nn.sigmoid_cross_entropy_with_logits(x, x)", "tf.nn.embedding_lookup": "tf.nn.embedding_lookup(x, [1, 0])",
    "tf.nn.sparse_softmax_cross_entropy_with_logits": "tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)",
    "tf.nn.conv2d": "tf.nn.conv2d(image, tf.ones([3, 3, 3, 2]), 1, 'SAME')", "tf.nn.convolution": "tf.nn.convolution(image, tf.ones([3, 3, 3, 2]))",
    "tf.nn.compute_average_loss": "tf.nn.compute_average_loss(v)", "tf.nn.scale_regularization_loss": "tf.nn.scale_regularization_loss(tf.constant(2.0))", "tf.nn": "tf.nn.relu(x)",
    "tf.random.uniform": "tf.random.uniform([2, 3]).shape.as_list()", "tf.random.normal": "tf.random.normal([2, 3]).shape.as_list()",
    "tf.random.set_seed": "tf.random.set_seed(1)", "tf.random.shuffle": "tf.reduce_sum(tf.random.shuffle(v))",
    "tf.random.categorical": "tf.random.categorical([[0.0, -1e9]], 4)", "tf.random.Generator": "tf.random.Generator.from_seed(1).normal([3]).shape.as_list()",
    "tf.errors.InvalidArgumentError": "issubclass(tf.errors.InvalidArgumentError, Exception)", "tf.config.list_physical_devices": "len(tf.config.list_physical_devices('CPU'))",
    "tf.config.list_logical_devices": "len(tf.config.list_logical_devices('CPU'))", "tf.config.run_functions_eagerly": "tf.config.run_functions_eagerly(False)",
    "tf.__version__": "tf.__version__.count('.') >= 1", "tf.get_logger": "tf.get_logger().name", "tf.config.LogicalDeviceConfiguration": "tf.config.LogicalDeviceConfiguration(memory_limit=64).memory_limit",
    "tf.signal.stft": "tf.abs(tf.signal.stft(tf.tile(v, [4]), 8, 4))", "tf.ragged.constant": "tf.ragged.constant([[1, 2], [3]]).to_tensor()",
    "tf.sparse.to_dense": "tf.sparse.to_dense(tf.sparse.from_dense(x))", "tf.sparse.from_dense": "tf.sparse.from_dense(x).values", "tf.SparseTensor": "tf.SparseTensor([[0, 1]], [5.0], [2, 2]).values",
    "tf.sparse.SparseTensor": "tf.sparse.SparseTensor([[0, 1]], [5.0], [2, 2]).indices", "tf.distribute.MirroredStrategy": "tf.distribute.MirroredStrategy(['/CPU:0']).num_replicas_in_sync",
    "tf.distribute.get_strategy": "tf.distribute.get_strategy().num_replicas_in_sync", "tf.distribute.ReduceOp": "tf.distribute.ReduceOp.SUM.name",
}  # fmt: skip

FILES_AND_DATA = {
    "tf.data.Dataset": "list(tf.data.Dataset.from_tensor_slices(v).map(lambda a: a * 2).batch(4))", "tf.data.AUTOTUNE": "tf.data.AUTOTUNE",
    "tf.data.experimental.AUTOTUNE": "tf.data.experimental.AUTOTUNE", "tf.data.experimental.cardinality": "tf.data.experimental.cardinality(tf.data.Dataset.range(4))",
    "tf.data.Options": "tf.data.Options().deterministic is None", "tf.strings.lower": "tf.strings.lower(s)", "tf.strings.split": "tf.strings.split('a b c')",
    "tf.strings.regex_replace": "tf.strings.regex_replace(s, 'B', 'x')", "tf.strings.to_number": "tf.strings.to_number(['1', '2.5'])", "tf.strings.join": "tf.strings.join([s, s], '-')",
    "tf.strings.substr": "tf.strings.substr(s, 0, 1)", "tf.strings.reduce_join": "tf.strings.reduce_join(s)", "tf.strings.unicode_split": "tf.strings.unicode_split('abc', 'UTF-8')",
    "tf.image.resize": "tf.image.resize(image, [4, 6])", "tf.image.flip_left_right": "tf.image.flip_left_right(image)", "tf.image.rgb_to_grayscale": "tf.image.rgb_to_grayscale(image)",
    "tf.image.convert_image_dtype": "tf.image.convert_image_dtype(tf.constant([[0, 255]], tf.uint8), tf.float32)", "tf.image.rot90": "tf.image.rot90(image)",
    "tf.image.central_crop": "tf.image.central_crop(image, 0.5)", "tf.image.crop_to_bounding_box": "tf.image.crop_to_bounding_box(image, 1, 1, 4, 4)",
    "tf.image.pad_to_bounding_box": "tf.image.pad_to_bounding_box(image, 1, 1, 10, 10)", "tf.image.resize_with_pad": "tf.image.resize_with_pad(image, 4, 8)",
    "tf.image.random_flip_left_right": "tf.image.random_flip_left_right(image).shape.as_list()", "tf.image.random_crop": "tf.image.random_crop(image[0], [4, 4, 3]).shape.as_list()",
    "tf.image.psnr": "tf.image.psnr(image, image + 1.0, 255.0)", "tf.image.ssim": "tf.image.ssim(tf.tile(image, [1, 2, 2, 1]), tf.tile(image, [1, 2, 2, 1]), 255.0)",
    "tf.image.extract_patches": "tf.image.extract_patches(image, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')", "tf.image.ResizeMethod": "tf.image.ResizeMethod.BILINEAR",
    "tf.image.decode_png": "tf.image.decode_png(png)", "tf.io.decode_png": "tf.io.decode_png(png)", "tf.image.decode_image": "tf.image.decode_image(png)",
    "tf.io.decode_raw": "tf.io.decode_raw(b'\\x01\\x02', tf.uint8)", "tf.train.Int64List": "list(tf.train.Int64List(value=[1, 2]).value)", "tf.train.FloatList": "list(tf.train.FloatList(value=[1.5]).value)",
    "tf.train.BytesList": "list(tf.train.BytesList(value=[b'a']).value)", "tf.train.Feature": "example(tf).SerializeToString()", "tf.train.Features": "len(example(tf).features.feature)",
    "tf.train.Example": "example(tf).features.feature['a'].int64_list.value[0]", "tf.io.FixedLenFeature": "tf.io.FixedLenFeature([2], tf.float32).shape",
    "tf.io.parse_single_example": "tf.io.parse_single_example(example(tf).SerializeToString(), {'a': tf.io.FixedLenFeature([], tf.int64)})",
    "tf.io.parse_example": "tf.io.parse_example([example(tf).SerializeToString()], {'a': tf.io.FixedLenFeature([], tf.int64)})",
}  # fmt: skip

LAYERS = {
    f"{K}.Model": "functional(tf, x)", f"{K}.models.Model": "functional(tf, x, 'models')", f"{K}.Input": f"{K}.Input((3,)).shape", f"{L}.Input": f"{L}.Input((3,)).shape",
    f"{K}.Sequential": f"run({K}.Sequential([{L}.Dense(3), {L}.ReLU()]), x)", f"{K}.models.Sequential": f"run({K}.models.Sequential([{L}.Dense(3)]), x)",
    f"{L}.Layer": f"{L}.Layer(name='a').name", f"{K}.Layer": f"{K}.Layer(name='a').name", f"{L}.InputLayer": f"{L}.InputLayer(shape=(3,), name='a').name",
    f"{L}.Dense": f"run({L}.Dense(3, activation='relu'), x)", f"{L}.Dropout": f"{L}.Dropout(0.5)(x, training=False)", f"{L}.Flatten": f"{L}.Flatten()(image)",
    f"{L}.Conv2D": f"run({L}.Conv2D(4, 3, padding='same', strides=2), image)", f"{L}.Conv2DTranspose": f"run({L}.Conv2DTranspose(4, 3, strides=2), image)",
    f"{L}.DepthwiseConv2D": f"run({L}.DepthwiseConv2D(3), image)", f"{L}.SeparableConv2D": f"run({L}.SeparableConv2D(4, 3), image)", f"{L}.Conv3D": f"run({L}.Conv3D(2, (1, 2, 2)), image[None])",
    f"{L}.Conv1D": f"run({L}.Conv1D(4, 3, padding='causal'), sequence)", f"{L}.Conv1DTranspose": f"run({L}.Conv1DTranspose(4, 3), sequence)",
    f"{L}.BatchNormalization": f"run({L}.BatchNormalization(), sequence)", f"{L}.LayerNormalization": f"run({L}.LayerNormalization(), sequence)",
    f"{L}.GroupNormalization": f"run({L}.GroupNormalization(2), sequence)", f"{L}.UnitNormalization": f"run({L}.UnitNormalization(), sequence)",
    f"{L}.Embedding": f"run({L}.Embedding(10, 3), i)", f"{L}.Reshape": f"{L}.Reshape((-1,))(image)", f"{L}.Rescaling": f"{L}.Rescaling(1 / 255)(image)", f"{L}.Resizing": f"{L}.Resizing(4, 4)(image)",
    f"{L}.CenterCrop": f"{L}.CenterCrop(4, 4)(image)", f"{L}.Normalization": f"{L}.Normalization(mean=1.0, variance=4.0)(x)", f"{L}.Activation": f"{L}.Activation('tanh')(x)",
    f"{L}.MultiHeadAttention": f"run({L}.MultiHeadAttention(2, 3), sequence, sequence)", f"{L}.Attention": f"{L}.Attention()([sequence, sequence])",
    f"{L}.LSTM": f"run({L}.LSTM(3, return_sequences=True), sequence)", f"{L}.GRU": f"run({L}.GRU(3), sequence)", f"{L}.Bidirectional": f"run({L}.Bidirectional({L}.LSTM(3)), sequence)",
    f"{L}.RNN": f"run({L}.RNN({L}.LSTMCell(3)), sequence)", f"{L}.LSTMCell": f"run({L}.RNN({L}.LSTMCell(2)), sequence)", f"{L}.GRUCell": f"run({L}.RNN({L}.GRUCell(2)), sequence)",
    f"{L}.StringLookup": f"{L}.StringLookup(vocabulary=['aB', 'c'])(s)", f"{L}.IntegerLookup": f"{L}.IntegerLookup(vocabulary=[3, 1])(i)", f"{L}.CategoryEncoding": f"{L}.CategoryEncoding(6)(i)",
    f"{L}.TextVectorization": f"{L}.TextVectorization(vocabulary=['ab', 'c'])(s)", f"{L}.Lambda": f"{L}.Lambda(lambda a: a * 2)(x)", f"{L}.Dot": f"{L}.Dot(1)([x, x])",
    f"{L}.ZeroPadding2D": f"{L}.ZeroPadding2D(1)(image)", f"{L}.UpSampling2D": f"{L}.UpSampling2D(2)(image)", f"{L}.RepeatVector": f"{L}.RepeatVector(3)(x)",
    f"{L}.GlobalAveragePooling3D": f"{L}.GlobalAveragePooling3D()(image[None])", **_same(L, "add concatenate average", "[x, x]"),
    **{f"{L}.{name}": f"{L}.{name}()([x, x])" for name in "Add Concatenate Multiply".split()}, **{f"{L}.{name}": f"{L}.{name}()(-x)" for name in "ReLU LeakyReLU Softmax".split()},
    **{f"{L}.{name}": f"{L}.{name}()(image)" for name in "MaxPooling2D MaxPool2D GlobalAveragePooling2D GlobalAvgPool2D GlobalMaxPooling2D".split()},
    **{f"{L}.{name}": f"{L}.{name}()(sequence)" for name in "MaxPooling1D MaxPool1D GlobalAveragePooling1D GlobalAvgPool1D GlobalMaxPooling1D".split()},
    f"{L}.AveragePooling2D": f"{L}.AveragePooling2D(2)(image)", f"{L}.AveragePooling1D": f"{L}.AveragePooling1D(2)(sequence)",
    f"{L}.RandomFlip": f"{L}.RandomFlip()(image, training=False)", f"{L}.RandomCrop": f"{L}.RandomCrop(4, 4)(image, training=True).shape",
    **{f"{L}.{name}": f"{L}.{name}(0.1)(image, training=False)" for name in "RandomRotation RandomZoom RandomContrast".split()}, f"{L}.RandomTranslation": f"{L}.RandomTranslation(0.1, 0.1)(image, training=False)",
}  # fmt: skip

TRAINING = {
    **{f"{K}.optimizers.{name}": f"trained({K}.optimizers.{name}(0.1))" for name in "Adam AdamW SGD RMSprop".split()}, f"{K}.optimizers": f"{K}.optimizers.get('adam').name",
    **{f"{K}.losses.{name}": f"{K}.losses.{name}()(x, x / 5.0)" for name in "BinaryCrossentropy MeanSquaredError MeanAbsoluteError Huber KLDivergence CategoricalCrossentropy".split()},
    f"{K}.losses.SparseCategoricalCrossentropy": f"{K}.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, scores)", f"{K}.losses.Loss": f"{K}.losses.Loss(name='a').name",
    **{f"{K}.losses.{name}": f"{K}.losses.{name}(x / 5.0, x / 5.0)" for name in "binary_crossentropy categorical_crossentropy".split()},
    f"{K}.losses.sparse_categorical_crossentropy": f"{K}.losses.sparse_categorical_crossentropy(labels, scores, from_logits=True)",
    **{f"{K}.metrics.{name}": f"measured({K}.metrics.{name}(), labels, scores)" for name in "SparseCategoricalAccuracy".split()},
    f"{K}.metrics.SparseTopKCategoricalAccuracy": f"measured({K}.metrics.SparseTopKCategoricalAccuracy(2), labels, scores)", f"{K}.metrics.TopKCategoricalAccuracy": f"measured({K}.metrics.TopKCategoricalAccuracy(1), tf.one_hot(labels, 3), scores)",
    **{f"{K}.metrics.{name}": f"measured({K}.metrics.{name}(), tf.one_hot(labels, 3), tf.nn.softmax(scores))" for name in
       "BinaryAccuracy MeanAbsoluteError CategoricalAccuracy AUC Recall Precision FalseNegatives FalsePositives TruePositives TrueNegatives BinaryCrossentropy MeanAbsolutePercentageError".split()},
    f"{K}.metrics.Mean": f"measured({K}.metrics.Mean(), v)", f"{K}.metrics.Accuracy": f"measured({K}.metrics.Accuracy(), labels, labels)", f"{K}.metrics.Metric": f"{K}.metrics.Metric(name='a').name",
    f"{K}.callbacks.EarlyStopping": f"{K}.callbacks.EarlyStopping(patience=2).patience", f"{K}.callbacks.ModelCheckpoint": f"{K}.callbacks.ModelCheckpoint('a.keras').filepath",
    f"{K}.callbacks.Callback": f"isinstance({K}.callbacks.Callback().on_epoch_end(0), type(None))", f"{K}.callbacks.TensorBoard": f"{K}.callbacks.TensorBoard('logs').log_dir",
    f"{K}.callbacks.ReduceLROnPlateau": f"{K}.callbacks.ReduceLROnPlateau(factor=0.5).factor", f"{K}.callbacks.LearningRateScheduler": f"{K}.callbacks.LearningRateScheduler(lambda e: 0.1).schedule(1)",
    f"{K}.callbacks.LambdaCallback": f"{K}.callbacks.LambdaCallback() is not None", f"{K}.optimizers.schedules.ExponentialDecay": f"{K}.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)(5)",
    f"{K}.optimizers.schedules.CosineDecay": f"{K}.optimizers.schedules.CosineDecay(0.1, 10)(5)", f"{K}.optimizers.schedules.InverseTimeDecay": f"{K}.optimizers.schedules.InverseTimeDecay(0.1, 10, 0.5)(5)",
    f"{K}.optimizers.schedules.PiecewiseConstantDecay": f"{K}.optimizers.schedules.PiecewiseConstantDecay([3], [1.0, 0.5])(5)", f"{K}.optimizers.schedules.LearningRateSchedule": f"issubclass({K}.optimizers.schedules.ExponentialDecay, {K}.optimizers.schedules.LearningRateSchedule)",
    f"{K}.optimizers.Optimizer": f"issubclass({K}.optimizers.Adam, {K}.optimizers.Optimizer)", **{f"{K}.regularizers.{name}": f"{K}.regularizers.{name}(0.1)(x)" for name in "l2 L2".split()},
    f"{K}.regularizers.get": f"{K}.regularizers.get('l2')(x)", f"{K}.regularizers.Regularizer": f"isinstance({K}.regularizers.get('l2'), {K}.regularizers.Regularizer)",
    f"{K}.initializers.Constant": f"{K}.initializers.Constant(3.0)((2,))", f"{K}.initializers.Zeros": f"{K}.initializers.Zeros()((2,))", f"{K}.initializers.get": f"{K}.initializers.get('ones')((2,))",
    **{f"{K}.initializers.{name}": f"{K}.initializers.{name}()((2, 3)).shape" for name in "RandomNormal GlorotNormal GlorotUniform VarianceScaling".split()},
    **_same(f"{K}.activations", "softmax gelu swish tanh sigmoid relu", "x"), f"{K}.activations.get": f"{K}.activations.get('relu')(x)", f"{K}.activations": f"{K}.activations.relu(x)",
    f"{K}.utils.to_categorical": f"{K}.utils.to_categorical([0, 2], 3)", f"{K}.utils.set_random_seed": f"{K}.utils.set_random_seed(1)", f"{K}.utils.pad_sequences": f"{K}.utils.pad_sequences([[1], [2, 3]])",
    f"{K}.utils.normalize": f"{K}.utils.normalize(np.array([[3.0, 4.0]]))", f"{K}.utils.img_to_array": f"{K}.utils.img_to_array(np.zeros((2, 2, 3))).shape", f"{K}.backend.epsilon": f"{K}.backend.epsilon()",
    f"{K}.backend.clear_session": f"{K}.backend.clear_session()", f"{K}.Variable": f"{K}.Variable([1.0, 2.0]).shape", f"{K}.models.clone_model": f"{K}.models.clone_model({K}.Sequential([{L}.Input((2,)), {L}.Dense(3)])).count_params()",
    f"{K}.random.SeedGenerator": f"{K}.random.SeedGenerator(1) is not None", **_same(f"{K}.random", "uniform normal", "(2, 3)"), f"{K}.random.shuffle": f"tf.reduce_sum({K}.random.shuffle(v))", f"{K}.random.dropout": f"{K}.random.dropout(x, 0.0)",
    f"{K}.random.categorical": f"{K}.random.categorical(tf.constant([[0.0, -1e9]]), 4)", f"{K}.mixed_precision.set_global_policy": f"{K}.mixed_precision.set_global_policy('float32')", f"{K}.config.set_dtype_policy": f"{K}.config.set_dtype_policy('float32')",
}  # fmt: skip
TRAINING |= {name: expression + ".shape" for name, expression in TRAINING.items() if name in (f"{K}.random.uniform", f"{K}.random.normal")}

OPS = {
    **_same(O, "shape mean sum transpose square softmax exp cos sqrt gelu relu log round abs max floor std sin amax sigmoid min absolute all ones_like zeros_like stop_gradient convert_to_numpy convert_to_tensor array normalize norm unstack", "x"),
    **_same(O, "matmul multiply minimum maximum divide add power equal not_equal less", "x, x"), **_same(O, "ones zeros", "(2, 3)"), f"{O}.arccos": f"{O}.arccos(x / 5.0)",
    f"{O}.reshape": f"{O}.reshape(x, (-1,))", f"{O}.cast": f"{O}.cast(x, 'int32')", f"{O}.concatenate": f"{O}.concatenate([x, x], 1)", f"{O}.expand_dims": f"{O}.expand_dims(x, 0)",
    f"{O}.arange": f"{O}.arange(5)", f"{O}.stack": f"{O}.stack([x, x])", f"{O}.squeeze": f"{O}.squeeze(x[None])", f"{O}.tile": f"{O}.tile(x, (1, 2))", f"{O}.clip": f"{O}.clip(x, 2.0, 3.0)",
    f"{O}.split": f"{O}.split(v, 3)", f"{O}.one_hot": f"{O}.one_hot(labels, 3)", f"{O}.argmax": f"{O}.argmax(x, 1)", f"{O}.where": f"{O}.where(x > 2.0, x, -x)", f"{O}.take": f"{O}.take(v, labels)",
    f"{O}.eye": f"{O}.eye(3)", f"{O}.tensordot": f"{O}.tensordot(x, x, 1)", f"{O}.linspace": f"{O}.linspace(0.0, 1.0, 5)", f"{O}.top_k": f"{O}.top_k(v, 2)[0]", f"{O}.einsum": f"{O}.einsum('ij,jk->ik', x, x)",
    f"{O}.conv": f"{O}.conv(image, tf.ones((3, 3, 3, 2)))", f"{O}.pad": f"{O}.pad(x, ((1, 0), (0, 1)))", f"{O}.repeat": f"{O}.repeat(v, 2)", f"{O}.flip": f"{O}.flip(v)", f"{O}.slice": f"{O}.slice(x, (0, 1), (2, 1))",
    f"{O}.binary_crossentropy": f"{O}.binary_crossentropy(x / 5.0, x / 5.0)", f"{O}.categorical_crossentropy": f"{O}.categorical_crossentropy(x / 5.0, x / 5.0)", f"{O}.broadcast_to": f"{O}.broadcast_to(v, (2, 6))",
    f"{O}.take_along_axis": f"{O}.take_along_axis(x, labels[2:, None], 1)", f"{O}.segment_sum": f"{O}.segment_sum(v, tf.constant([0, 0, 1, 1, 2, 2]), 3)", f"{O}.scatter_update": f"{O}.scatter_update(v, [[1]], [9.0])",
    f"{O}.nn.softmax": f"{O}.nn.softmax(x)", f"{O}.nn.gelu": f"{O}.nn.gelu(x)", f"{O}.image.resize": f"{O}.image.resize(image, (4, 4))", f"{O}.image.extract_patches": f"{O}.image.extract_patches(image, 2)",
    f"{O}.image.crop_images": f"{O}.image.crop_images(image, 1, 1, 1, 1)", f"{O}.image.pad_images": f"{O}.image.pad_images(image, 1, 1, 1, 1)",
}  # fmt: skip

EXAMPLES = {**TENSORS, **FILES_AND_DATA, **LAYERS, **TRAINING, **OPS}
