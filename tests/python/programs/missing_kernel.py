import tensorflow as tf

# Check GPU availability
print("Num GPUs Available: ", len(tf.config.list_physical_devices('GPU')))

# Define a simple operation (with a potentially missing GPU kernel)
a = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64)  # Float64 might lack optimized GPU kernels in some configurations
b = tf.constant([[5.0, 6.0], [7.0, 8.0]], dtype=tf.float64)
c = tf.matmul(a, b)

# Print the device assignment for the operation
print(c.device)

# Execute the operation and observe the execution time
%timeit c.numpy() # Using %timeit for time measurement within a Jupyter environment

