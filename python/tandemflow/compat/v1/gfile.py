"""tf.compat.v1.gfile: files under the names of then."""
from ...io import gfile as _gfile

GFile = Open = FastGFile = _gfile.GFile
Copy, Exists, Glob, IsDirectory, ListDirectory = _gfile.copy, _gfile.exists, _gfile.glob, _gfile.isdir, _gfile.listdir
MakeDirs, MkDir, Remove, DeleteRecursively, Rename, Stat, Walk = (
    _gfile.makedirs, _gfile.mkdir, _gfile.remove, _gfile.rmtree, _gfile.rename, _gfile.stat, _gfile.walk,
)  # fmt: skip
