"""Strings, which the host computes."""
import numpy as np

from .draw import ANY, Operand

_WORDS = ["", "a", "Hello World", "ÄÖÜ straße", "12", " -3.5e2 ", "a,b,,c", "x\ty\nz", "日本語", "0x1F", "inf", "nan", "aaa", "1e400", "AbC"]


def _texts(d, words=_WORDS, low=0, high=2):
    shape = d.shape(low, high, 3)
    return Operand(d.random.choice(np.array([word.encode() for word in words], object), shape) if shape else np.array(d.one_of(*words).encode(), object), "string")


def _one(d):
    return [_texts(d)], {}


def _join(d):
    x = _texts(d)
    return [[x, Operand(x.array, "string"), _texts(d, high=0)]], d.options(separator=lambda: d.one_of("", ", "))


def _reduce_join(d):
    x = _texts(d, low=1)
    return [x], d.options(axis=lambda: d.axis(len(x.shape)), keepdims=d.flag, separator=lambda: "-")


def _split(d):
    return [_texts(d, high=1)], d.options(sep=lambda: d.one_of(None, ",", " "), maxsplit=lambda: d.one_of(-1, 1))


def _substr(d):
    return [_texts(d), d.between(-3, 1), d.between(0, 4)], d.options(unit=lambda: d.one_of("BYTE", "UTF8_CHAR"))


def _unit(d):
    return [_texts(d)], d.options(unit=lambda: d.one_of("BYTE", "UTF8_CHAR"))


def _encoding(d):
    return [_texts(d)], d.options(encoding=lambda: d.one_of("", "utf-8"))


def _replace(d):
    pattern, rewrite = d.one_of(("a", "b"), ("[a-z]+", "<\\0>"), ("(\\w)(\\w)", "\\2\\1"), ("\\s", ""), ("^", ">"), ("l*", "-"), (",", "\\\\"))
    return [_texts(d), pattern, rewrite], d.options(replace_global=d.flag)


def _match(d):
    return [_texts(d), d.one_of("a*", "[A-Z].*", "\\d+", ".*,.*")], {}


def _numbers(d):
    return [_texts(d, ["12", "-3", "7", " 5 ", "0", "2147483648", "1.5", "-2.5e3", "inf", "nan", "1e400"] if d.chance(3) else ["12", "-3", "0007", "0"])], d.options(out_type=lambda: d.one_of("float32", "float64", "int32", "int64"))


def _as_string(d):
    return [d.array(ANY, d.shape(0, 2))], d.options(precision=lambda: d.between(0, 5), scientific=lambda: d.flag(), width=lambda: d.between(1, 9), fill=lambda: d.one_of("", "0", " "))


def _equal(d):
    x = _texts(d)
    return [x, Operand(d.random.permutation(x.array.ravel()).reshape(x.shape), "string")], {}


def _ngrams(d):
    return [Operand(np.array([b"a", b"b", b"c", b"d"], object), "string"), d.between(1, 3)], d.options(separator=lambda: "_")


def calls():
    found = {f"strings.{name}": _one for name in ("strip", "bytes_split")}
    found.update({f"strings.{name}": _encoding for name in ("lower", "upper")})
    found.update({
        "strings.join": _join, "strings.reduce_join": _reduce_join, "strings.split": _split, "strings.substr": _substr, "strings.length": _unit, "strings.regex_replace": _replace,
        "strings.regex_full_match": _match, "strings.to_number": _numbers, "strings.as_string": _as_string, "equal:strings": _equal, "not_equal:strings": _equal, "strings.ngrams": _ngrams,
        "strings.to_hash_bucket_fast": lambda d: ([_texts(d), 17], {}), "strings.unicode_decode": lambda d: ([_texts(d, high=1), "UTF-8"], {}), "unique:strings": lambda d: ([_texts(d, low=1, high=1)], {}),
        "strings.unicode_split": lambda d: ([_texts(d, high=1), "UTF-8"], {}),
        "gather:strings": lambda d: ([_texts(d, low=1, high=1), [0]], {}), "concat:strings": lambda d: (lambda x: ([[x, Operand(x.array, "string")], 0], {}))(_texts(d, low=1)),
        "reshape:strings": lambda d: ([_texts(d), [-1]], {}), "io.encode_base64": _one, "strings.to_hash_bucket": lambda d: ([_texts(d), 9], {}),
    })  # fmt: skip
    return found
