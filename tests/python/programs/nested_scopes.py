import tensorflow as tf

with tf.device('/GPU:0'):  # Explicit device placement, assuming GPU 0 exists
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    b = tf.constant([[5.0, 6.0], [7.0, 8.0]])
    with tf.device('/CPU:0'): # Force CPU execution for a specific operation
        c = tf.add(a,b) #Addition operation explicitly assigned to CPU
    d = tf.matmul(a, b)


print(c.device)
print(d.device)
