import tensorflow as tf

with tf.device('/GPU:0'):
    # Place matrix multiplication on the GPU
    matrix_a = tf.random.normal((1024, 1024))
    matrix_b = tf.random.normal((1024, 1024))
    product = tf.matmul(matrix_a, matrix_b)

with tf.device('/CPU:0'):
    # Perform post-processing on the CPU
    result = tf.reduce_sum(product)

print(result)
