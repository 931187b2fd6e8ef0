"""Strings, on the host."""
import re

import numpy as np

from ..support import known, op


def _strings(value, node):
    """An array of str."""
    values = np.asarray(known(value, node, "a string"), np.object_)
    texts = [v.decode("utf-8") if isinstance(v, bytes) else str(v) for v in values.ravel()]
    return np.array(texts, dtype=np.object_).reshape(values.shape)


@op("StringConcat")
def string_concat(node, a, b):
    return np.asarray(_strings(a, node) + _strings(b, node), np.object_)


@op("StringSplit")
def string_split(node, x):
    """Substrings, filled up with empty ones, and how many there are."""
    x = _strings(x, node)
    most = node.get("maxsplit", -1)
    parts = [text.split(node.get("delimiter") or None, -1 if most is None else most) for text in x.ravel()]
    width = max(map(len, parts), default=0)
    filled = np.empty((x.size, width), np.object_)
    filled[:] = ""
    for row, part in zip(filled, parts):
        row[: len(part)] = part
    filled = filled.reshape((*x.shape, width))
    return filled, np.array([len(part) for part in parts], np.int64).reshape(x.shape)


@op("RegexFullMatch")
def regex_full_match(node, x):
    x, pattern = _strings(x, node), re.compile(node["pattern"])
    return np.array([pattern.fullmatch(text) is not None for text in x.ravel()], np.bool_).reshape(x.shape)


@op("StringNormalizer")
def string_normalizer(node, x):
    x, sensitive = _strings(x, node), node.get("is_case_sensitive", 0)
    if x.ndim > 2 or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"node '{node.name}' (StringNormalizer): the input must have shape [C] or [1, C], got {list(x.shape)}")
    fold = (lambda text: text) if sensitive else str.lower
    stops = {fold(word) for word in node.get("stopwords", [])}
    kept = [text for text in x.ravel() if fold(text) not in stops] or [""]
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(node.get("case_change_action", "NONE"), lambda text: text)
    return np.array([change(text) for text in kept], dtype=np.object_).reshape((1, -1) if x.ndim == 2 else -1)


@op("TfIdfVectorizer")
def tf_idf_vectorizer(node, x):
    """How often the n-grams of a pool occur, with gaps of up to max_skip_count."""
    x = known(x, node, "the input")
    x = _strings(x, node) if x.dtype.kind in "OSU" else x
    pool, counts = node.get("pool_strings") or node.get("pool_int64s"), [*node["ngram_counts"], None]
    grams = {}
    for length, (begin, end) in enumerate(zip(counts, counts[1:]), 1):
        block = pool[begin:end]
        for i in range(0, len(block), length):
            grams.setdefault(tuple(block[i : i + length]), len(grams))
    places, weights = node["ngram_indexes"], node.get("weights")
    rows = x if x.ndim == 2 else x[None]
    found = np.zeros((len(rows), max(places) + 1), np.float32)
    shortest, longest = node["min_gram_length"], node["max_gram_length"]
    for row, words in zip(found, rows):
        for length in range(shortest, longest + 1):
            for gap in range(1, node["max_skip_count"] + 2 if length > 1 else 2):
                for first in range(len(words) - (length - 1) * gap):
                    which = grams.get(tuple(words[first : first + (length - 1) * gap + 1 : gap]))
                    if which is not None:
                        row[places[which]] += 1
    if node["mode"] != "TF":
        scale = np.ones(found.shape[1], np.float32)
        for place, weight in zip(places, weights or []):
            scale[place] = weight
        found = (found > 0) * scale if node["mode"] == "IDF" else found * scale
    return found.astype(np.float32) if x.ndim == 2 else found[0].astype(np.float32)


@op("LabelEncoder")
def label_encoder(node, x):
    """Each key replaced by its value, others by the default."""
    x = known(x, node, "the input")
    x = _strings(x, node) if x.dtype.kind in "OSU" else x
    kinds = ("strings", "int64s", "floats", "tensor")
    keys, values = (next((node[f"{what}_{kind}"] for kind in kinds if f"{what}_{kind}" in node), None) for what in ("keys", "values"))
    if isinstance(values, np.ndarray):
        dtype, fallback = values.dtype, node.get("default_tensor")
        fallback = fallback.ravel()[0] if fallback is not None else {"O": "_Unused", "f": -0.0}.get(dtype.kind, -1)
    else:
        kind = next(k for k in kinds if f"values_{k}" in node)
        dtype = {"strings": np.dtype(np.object_), "int64s": np.dtype(np.int64), "floats": np.dtype(np.float32)}[kind]
        fallback = node.get(f"default_{kind[:-1]}", {"strings": "_Unused", "int64s": -1, "floats": -0.0}[kind])
    table = dict(zip(np.asarray(keys).ravel().tolist(), np.asarray(values, dtype).ravel().tolist()))
    return np.array([table.get(key, fallback) for key in x.ravel().tolist()], dtype).reshape(x.shape)
