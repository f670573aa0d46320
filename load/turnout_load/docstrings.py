"""The texts that stand under a class's fields, which options' help and schemas are made of."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from itertools import pairwise


@functools.cache
def field_docs(of: type) -> dict[str, str]:
    """Returns the docstring below each annotated field of a class, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(of)))
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    docs = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    docs[field.target.id] = " ".join(text.split())
    return docs
