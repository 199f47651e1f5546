"""Dataclasses that are quick to define.

`dataclasses.dataclass` compiles up to eight methods of each class when the class is defined, in 0.3 ms of the
processor.  A command defines some 400 such classes, makes instances of a third of them, and of most of these
only a few.  With `dataclass` of this module, the methods are closures over the fields, and `__init__` is
compiled when a class has `_FEW` instances: a definition takes a tenth of the time
(`docs/decisions/jobs.md`).

Classes mean what they mean with the standard library, whose `field`, `fields` and `replace` work with them.
The arguments that nothing here uses are left out: `order`, `unsafe_hash`, `kw_only`, `match_args`, and so are
`InitVar` and `KW_ONLY`.  Annotations are strings, as with `from __future__ import annotations`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to the type checker, the classes are those of the standard library
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported
else:
    import dataclasses
    from dataclasses import MISSING
    from reprlib import recursive_repr

    _FEW = 16
    """How many instances a class has before its `__init__` is compiled, which takes as long as dozens."""

    @dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)
    class _Plain:
        pass

    _PARAMS = _Plain.__dataclass_params__

    def dataclass(kind=None, /, *, eq=True, frozen=False, slots=False):
        """Return the class as a dataclass; the arguments are those of the standard library."""

        def define(kind):
            return _define(kind, eq, frozen, slots)

        return define if kind is None else define(kind)

    def _define(kind, eq, frozen, slots):
        own = set(kind.__dict__)
        if "__eq__" in own and kind.__dict__["__hash__"] is None:
            own.remove("__hash__")  # Python has set it because there is `__eq__`
        if kind.__doc__ is None:
            kind.__doc__ = kind.__name__  # the standard library would derive a signature for it
        fields = _fields_of(kind)
        names = [field.name for field in fields]
        kind.__dataclass_params__ = _PARAMS
        if slots:
            kind = _with_slots(kind, names)
        values = _values_of([field.name for field in fields if field.compare])
        methods = {
            "__match_args__": tuple([field.name for field in fields if field.init]),
            "__init__": _first_init(kind, fields, frozen, slots),
            "__repr__": _repr_of([field.name for field in fields if field.repr]),
        }
        if eq:
            methods |= {"__eq__": _eq_by(values), "__hash__": _hash_by(values) if frozen else None}
        if frozen and slots and "__getstate__" not in own:
            methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
        for name in methods.keys() - own:
            setattr(kind, name, methods[name])
        if frozen:
            kind.__setattr__ = _refuse_assignment(kind, names)
            kind.__delattr__ = _refuse_deletion(kind, names)
        return kind

    def _fields_of(kind):
        """Return the fields of a class and of its bases, and set `__dataclass_fields__`."""
        fields = {}
        for base in kind.__mro__[-1:0:-1]:
            fields.update(base.__dict__.get("__dataclass_fields__", {}))
        for name, annotation in kind.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 - takes longer
            if annotation.startswith("ClassVar"):
                continue
            default = kind.__dict__.get(name, MISSING)
            if isinstance(default, dataclasses.Field):
                field = default
                if field.default is MISSING:
                    delattr(kind, name)
                else:
                    setattr(kind, name, field.default)
            else:
                field = dataclasses.field(default=default)
            if field.default.__class__.__hash__ is None:
                raise ValueError(
                    f"mutable default for field {name} is not allowed: use default_factory"
                )
            field.name, field.type, field.kw_only = name, annotation, False
            field._field_type = dataclasses._FIELD  # noqa: SLF001 - `dataclasses.fields` looks for it
            fields[name] = field
        kind.__dataclass_fields__ = fields
        return list(fields.values())

    def _with_slots(kind, names):
        """Return the same class with slots for the fields, except those of its bases."""
        inherited = {
            slot for base in kind.__mro__[1:] for slot in base.__dict__.get("__slots__", ())
        }
        namespace = {
            key: value
            for key, value in kind.__dict__.items()
            if key not in names and key not in {"__dict__", "__weakref__"}
        }
        namespace["__slots__"] = tuple([name for name in names if name not in inherited])
        with_slots = type(kind)(kind.__name__, kind.__bases__, namespace)
        with_slots.__qualname__ = kind.__qualname__
        return with_slots

    def _first_init(kind, fields, frozen, slots):
        """Return an `__init__` that replaces itself by a compiled one when there are some instances."""
        names = [field.name for field in fields if field.init]
        others = [
            field
            for field in fields
            if not field.init
            and (field.default_factory is not MISSING or (slots and field.default is not MISSING))
        ]
        by_name = {field.name: field for field in fields}
        known = frozenset(names)
        assign = object.__setattr__ if frozen else setattr
        left = _FEW

        def __init__(self, *args, **kwargs):  # noqa: N807
            nonlocal left
            left -= 1
            values = dict(zip(names, args))  # noqa: B905 - there may be fewer
            missing = [name for name in names if name not in values and name not in kwargs]
            if (
                left < 0
                or len(args) > len(names)
                or not kwargs.keys() <= known
                or not values.keys().isdisjoint(kwargs)
                or any(not _has_default(by_name[name]) for name in missing)
            ):
                # It is needed often, or raises the error for these arguments.
                kind.__init__ = _compiled_init(kind, fields, frozen, slots)
                kind.__init__(self, *args, **kwargs)
                return
            values.update(kwargs)
            for name in names:
                value = values[name] if name in values else _default_of(by_name[name])
                assign(self, name, value)
            for field in others:
                assign(self, field.name, _default_of(field))
            if has_post_init:
                self.__post_init__()

        has_post_init = hasattr(kind, "__post_init__")
        return __init__

    def _has_default(field):
        return field.default is not MISSING or field.default_factory is not MISSING

    def _default_of(field):
        return field.default if field.default_factory is MISSING else field.default_factory()

    def _compiled_init(kind, fields, frozen, slots):
        """Return the `__init__` that the standard library compiles for the fields."""
        namespace = {"__annotations__": {}, "__doc__": kind.__doc__}
        for field in fields:
            namespace["__annotations__"][field.name] = object
            namespace[field.name] = dataclasses.field(
                default=field.default, default_factory=field.default_factory, init=field.init
            )
        if hasattr(kind, "__post_init__"):
            namespace["__post_init__"] = kind.__post_init__
        fields_only = type(kind.__name__, (), namespace)
        make = dataclasses.dataclass(repr=False, eq=False, frozen=frozen, slots=slots)
        init = make(fields_only).__init__
        init.__qualname__ = f"{kind.__qualname__}.__init__"
        return init

    def _values_of(names):
        """Return a function from an object to the tuple of its values with these names."""

        def values(self):
            return tuple([getattr(self, name) for name in names])

        return values

    def _eq_by(values):
        def __eq__(self, other):  # noqa: N807
            if other.__class__ is self.__class__:
                return values(self) == values(other)
            return NotImplemented

        return __eq__

    def _hash_by(values):
        def __hash__(self):  # noqa: N807
            return values(self).__hash__()

        return __hash__

    def _repr_of(names):
        @recursive_repr()
        def __repr__(self):  # noqa: N807
            values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{self.__class__.__qualname__}({values})"

        return __repr__

    def _refuse_assignment(kind, names):
        def __setattr__(self, name, value):  # noqa: N807
            if type(self) is kind or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(kind, self).__setattr__(name, value)

        return __setattr__

    def _refuse_deletion(kind, names):
        def __delattr__(self, name):  # noqa: N807
            if type(self) is kind or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(kind, self).__delattr__(name)

        return __delattr__

    def _get_state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _set_state(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)
