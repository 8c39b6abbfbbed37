"""What AWS Lambda's runtime does before it calls a function: layers are site directories, then the function's module is
imported. Its bootstrap.py does so unless the function's configuration has PYTHONPATH.
"""

import importlib
import os
import site
import sys

version = f"{sys.version_info.major}.{sys.version_info.minor}"
layers = [f"/opt/python/lib/python{version}/site-packages", "/opt/python"]
sys.path[:0] = [os.environ["LAMBDA_TASK_ROOT"], *layers]
for folder in (os.environ["LAMBDA_TASK_ROOT"], *layers):
    site.addsitedir(folder)
module, _, name = os.environ["_HANDLER"].partition(".")
print(getattr(importlib.import_module(module), name)({}, None))
