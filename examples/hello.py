import tandemflow as tf

x = tf.constant([0.0, 1.0, 2.0, 3.0])
y = 2 * x + 1
w, b = tf.Variable(0.0), tf.Variable(0.0)
for step in range(200):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x + b - y))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_add(-0.1 * dw)
    b.assign_add(-0.1 * db)
print(w * x + b)  # y, as near as 200 steps get
