"""What is kept of calls, and how it is done again: forwards, with torch's gradients too, and backwards."""
import copy
import math

from . import _calls, _hocket, _large, _tensors

#: Orders in memory of dO that a forward's backward is kept for.
_ORDERS = 8


class _Place:
    """The number of a tensor among a key's, and what makes the one that is read of it, if that is a copy."""

    __slots__ = "number", "convert"

    def __init__(self, number, convert=None):
        self.number, self.convert = number, convert

    def tensor(self, tensors):
        tensor = tensors[self.number]
        return tensor if self.convert is None else self.convert(tensor)


def _place_of(view, numbers, key, copies):
    """Where `view` is among the tensors `numbers`, or None."""
    found = [number for number in numbers if key.addresses[number] == view.address]
    if len(found) == 1:
        return _Place(found[0])
    for tensor, made, convert in () if found else copies.values():
        if _tensors.address_of(made) == view.address:
            found += [_Place(number, convert) for number in numbers if key.tensors[number] is tensor]
    return found[0] if len(found) == 1 else None


def places_of(views, key, top, copies):
    """For each tensor of the problem where it is among the key's: `top` are the names of those that are arguments, and have
    those of views. None for new ones. None alone: one was made of others, or an argument is none of the problem's, whose
    numbers were read."""
    named = dict(zip(top, key.top))
    beside = [number for number in range(len(key.tensors)) if number not in key.top]
    places = {}
    for name, view in views.items():
        if view.argument not in named and view.argument in ("out", "lse"):
            places[name] = None
            continue
        numbers = [named[view.argument]] if view.argument in named else beside
        places[name] = _place_of(view, numbers, key, copies)
        if places[name] is None:
            return None
    used = {place.number for place in places.values() if place is not None}
    return places if set(key.top) <= used else None


def forward_of(seen, made, key, top):
    """What is kept of a call that made `made`; None: nothing."""
    if len(seen.forwards) != 1 or seen.backwards or seen.is_spoilt:
        return None
    call, views, out, lse, is_new = seen.forwards[0]
    returned = made if isinstance(made, tuple) else (made,)
    if not all(own is own_result for own, own_result in zip(returned, (out, lse))):
        return None
    places = places_of(views, key, top, seen.copies)
    if places is None or not _have_gradients(call, views, key, places):
        return None
    shapes = [None if tensor is None else tuple(tensor.shape) for tensor in (out, lse)]
    is_new = [new and shape is not None for new, shape in zip(is_new, shapes)]
    return _Ready(call, views, places, is_new, shapes, len(returned), key.tensors if key.wanting else None)


def _have_gradients(call, views, key, places):
    """Whether torch's gradients of the key's tensors are those that the backward gives, reshaped."""
    if not key.wanting:
        return True
    for name in (*"qkv", *call.others):
        tensor = key.tensors[places[name].number]
        # A tensor that is read for several batches or heads has a gradient that is a sum.
        if math.prod(views[name].shape) != tensor.numel() or name in call.others and not tensor.is_contiguous():
            return False
    own = [places[name].number for name in (*"qkv", *call.others)]
    return len(set(own)) == len(own) and set(key.wanting) <= set(own)


class _Ready:
    """A forward that is checked and planned. With gradients, what its backwards are."""

    def __init__(self, call, views, places, is_new, shapes, returns, tensors):
        written = [name for name in ("o", "lse") if name in views]
        self._prepared = _hocket.PreparedCall(call.problem, views, call.arch, written, False)
        self._places, self._is_new, self._shapes, self._returns = list(places.items()), is_new, shapes, returns
        self._fills, self._is_large = call.sequences_differ, _large.may_be(call.problem)
        self._makes = call.make_output, _tensors.empty_like
        self._dtype, self._name, self._asked = views["o"].dtype, call.names.q, call.asked_stream
        #: The numbers of q, k and v among the key's tensors.
        self.qkv = [places[name].number for name in "qkv"]
        self._q, self._dropout = self.qkv[0], call.dropout
        self._backwards = None if tensors is None else Backwards(call, views, places, tensors)

    def dropping(self, state, key):
        """The seed and the offset of one more call, of the caller's `state` or drawn; None: nothing is dropped."""
        if state is None and self._dropout is None:
            return None
        given = _calls.dropout(self._dropout or 0, state, key.tensors[self._q])
        return None if given is None else given[1:]

    def __call__(self, key, given, dropping):
        """The results, or None where the usual way has something to say."""
        if self._backwards is not None:
            from . import _autograd

            made = _autograd.attend_again(self, key, dropping)
        else:
            made = self.run(key.addresses, key.tensors, dropping, given)
        if made is None:
            return None
        return made if self._returns == 2 else made[0]

    def run(self, addresses, tensors, dropping, given=(None, None)):
        """O and LSE, or None."""
        q, results = tensors[self._q], []
        for number, fill in ((0, 0), (1, -math.inf)):
            made = given[number]
            if self._is_new[number]:
                made = self._makes[number](q, self._name, self._shapes[number], self._dtype if number == 0 else "f32")
                if self._fills:
                    _tensors.fill(made, fill)
            results.append(made)
        placed, kept = [], []
        for name, place in self._places:
            if place is None:
                placed.append(_tensors.address_of(results[name == "lse"]))
            elif place.convert is None:
                placed.append(addresses[place.number])
            else:
                kept.append(place.tensor(tensors))
                placed.append(_tensors.address_of(kept[-1]))
        if not self._prepared.run(placed, _tensors.stream_of(q, self._asked), dropping):
            return None
        if self._is_large and _large.shifts(results[1]) is not None:
            return None
        return tuple(results)

    def gradients(self, dout, dlse, out, lse, tensors, dropping):
        """Those of the tensors, None of those without."""
        return self._backwards.gradients(dout, dlse, out, lse, tensors, dropping)


class Backwards:
    """The backward of a forward, for each order of dO in memory, with LSE's gradient and without."""

    def __init__(self, call, views, places, tensors):
        self._call, self._places, self._known = _placeless(call, views), places, {}
        self._orders = [_order_of(tensor) for tensor in tensors]
        self._numbers = [places[name].number for name in (*"qkv", *call.others)]

    def gradients(self, dout, dlse, out, lse, tensors, dropping):
        # Whoever keeps tensors for torch may give copies in another order back.
        is_alike = self._orders == [_order_of(tensor) for tensor in tensors]
        if dout is None:
            dout = out.new_zeros(out.shape)
        elif dout.dtype != out.dtype:
            dout = dout.to(out.dtype)
        given = {"o": out, "lse": lse, "do": _tensors.loadable(dout)}
        if dlse is not None:
            given["dlse"] = _tensors.contiguous(dlse)
        order = given["do"].stride(), out.stride(), dlse is None
        ready = self._known.get(order) if is_alike else None
        made = None if ready is None else ready.run(lse, tensors, given, dropping)
        if made is None:
            made = self._first(given, tensors, dropping, order if is_alike else None)
        results = [None] * len(tensors)
        for number, gradient in zip(self._numbers, made):
            like = tensors[number]
            same = gradient.shape == like.shape and gradient.dtype == like.dtype
            results[number] = gradient if same else gradient.to(like.dtype).view(like.shape)
        return results

    def _first(self, given, tensors, dropping, order):
        from . import _ready

        call = _placed(self._call, self._places, tensors, dropping)
        q, k, v = (tensors[self._places[name].number] for name in "qkv")
        made, seen = _ready.watched(None, lambda: call.backward(given["do"], q, k, v, given["o"], given["lse"], dlse=given.get("dlse")))
        if order is not None and len(seen.backwards) == 1 and len(self._known) < _ORDERS:
            ready = backward_of(seen.backwards[0], self._places, given)
            if ready is not None:
                self._known[order] = ready
        return list(made)


def _order_of(tensor):
    return tensor.stride() if _tensors.is_torch(tensor) else None


def _placeless(call, views):
    """`call` without the memory of tensors."""
    kept = copy.copy(call)
    kept._beside = {name: view.at(0) for name, view in call._beside.items()}
    kept._modify = kept._update = kept.sink = None
    kept._sequences, kept.captured = True if call.sequences_differ else None, []
    return kept


def _placed(call, places, tensors, dropping):
    """A call with tensors where those of the key are, that drops by its own seed and offset."""
    own = copy.copy(call)
    own.captured = [places[name].tensor(tensors) for name in call._beside]  # which keeps copies
    own._beside = {name: view.at(_tensors.address_of(tensor)) for (name, view), tensor in zip(call._beside.items(), own.captured)}
    own.stream = own.asked_stream
    if dropping is not None:
        own.drop(*dropping)
    return own


def backward_of(noted, places, given):
    """What is kept of a backward; None: nothing. `places` are the numbers of what it reads, but of the tensors `given`."""
    call, views, made = noted
    if any(views[name].address != _tensors.address_of(tensor) for name, tensor in given.items()):
        return None
    return ReadyBackward(call, views, places, list(given), made)


def alone_of(seen, key, top):
    """The same of a backward whose tensors are all the key's; None: nothing."""
    if len(seen.backwards) != 1:
        return None
    call, views, made = seen.backwards[0]
    new = {*(f"d{name}" for name in "qkv"), *(f"d_{name}" for name in call.others)}
    places = places_of({name: view for name, view in views.items() if name not in new}, key, top, seen.copies)
    return None if places is None else ReadyBackward(call, views, places, (), made)


class ReadyBackward:
    """A backward that is checked and planned."""

    def __init__(self, call, views, places, given, made):
        self._new = [name for name in views if name not in places and name not in given]
        self._prepared = _hocket.PreparedCall(call.problem, views, call.arch, self._new, True)
        self._places = [(name, None if name in given else places.get(name)) for name in views]
        self._made = [(tuple(gradient.shape), gradient.dtype) for gradient in made]
        self._fills, self._is_large = call.sequences_differ, _large.may_be(call.problem)
        self._q, self._asked = places["q"].number, call.asked_stream

    def run(self, lse, tensors, given=None, dropping=None):
        """The gradients, or None where the usual way has something to say."""
        if self._is_large and _large.shifts(lse) is not None:
            return None
        like = tensors[self._q]
        make = like.new_zeros if self._fills else like.new_empty
        made = [make(shape, dtype=dtype) for shape, dtype in self._made]
        own = dict(zip(self._new, made))
        own.update(given or {})
        placed = [own[name] if place is None else place.tensor(tensors) for name, place in self._places]
        addresses = [_tensors.address_of(tensor) for tensor in placed]
        ran = self._prepared.run(addresses, _tensors.stream_of(like, self._asked), dropping)
        return made if ran else None
