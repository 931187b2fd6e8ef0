import tensorflow as tf

@tf.function
def my_computation(input_tensor):
    with tf.device('/GPU:0'):
        intermediate = tf.math.square(input_tensor)
    with tf.device('/CPU:0'):
        result = tf.math.reduce_mean(intermediate)
    return result

input_data = tf.random.normal((1000,1000))
output = my_computation(input_data)
print(output)
