"""Properties that are found once.

Those of the standard library have one lock for all objects of a class before Python 3.12. Threads wait for each other
there, and a process that forks while one of them holds it leaves a child that waits for ever. Ours has none: two
threads may find a value twice, which does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """A method whose result takes its place when it is first asked for.

        Examples
        --------
        >>> class Circle:
        ...     @cached_property
        ...     def area(self):
        ...         print("found")
        ...         return 3.14
        >>> c = Circle()
        >>> c.area, c.area
        found
        (3.14, 3.14)
        """

        def __init__(self, find):
            self._find = find
            self.__doc__ = find.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._find(instance)
            return value
