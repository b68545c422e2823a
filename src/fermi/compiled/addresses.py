"""Arrays inside compiled loops that come as addresses: many columns, whose number no type has to tell."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

cgutils: Any = _cgutils  # untyped


def _pointer(_: Any, address: Any) -> Any:
    """The address of an array as a pointer, which `numba.carray` turns into the array again."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_pointer)
