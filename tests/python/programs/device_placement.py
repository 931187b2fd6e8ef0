import tensorflow as tf

with tf.device('/CPU:0'):
    cpu_op = tf.constant([1, 2, 3])  # Operation assigned to CPU
    cpu_result = tf.reduce_sum(cpu_op)

with tf.device('/GPU:0'):
    gpu_op = tf.constant([4, 5, 6])  # Operation assigned to GPU
    gpu_result = tf.reduce_sum(gpu_op)

print(f"CPU result: {cpu_result.numpy()}")
print(f"GPU result: {gpu_result.numpy()}")
