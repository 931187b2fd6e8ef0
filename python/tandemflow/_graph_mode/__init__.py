"""Graphs and sessions as programs for TensorFlow 1 use them: placeholders, fetches and feeds. ADR 0112 says how.

nodes.py holds what calls leave behind while a graph is built, recording.py makes the functions of the package leave it,
variables.py, optimizers.py and saver.py are what such programs train and keep, session.py runs it.
"""
