"""The same random calls in TensorFlow and here, compared. From tools/, with a Python that has the library:

    python -m beside_tensorflow.run tensorflow theirs.pkl --calls 12000 [--special]
    python -m beside_tensorflow.run tandemflow ours.pkl --calls 12000 [--special]
    python -m beside_tensorflow.compare theirs.pkl ours.pkl [--special]
"""
