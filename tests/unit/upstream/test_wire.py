from proxy.upstream.wire import Answer, Incoming, Prefixed, ReadyChunks, header, reason_of


class Later(ReadyChunks):
    """
    Chunks of which none is at hand yet.
    """

    def __init__(self, *chunks):
        self.left = list(chunks)

    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)

    def ready(self):
        return b""

    @property
    def ended(self):
        return False


async def test_reads_a_whole_answer_and_lets_go():
    """
    ``read`` is for error bodies and JSON.
    """
    closed = []
    answer = Answer(200, "OK", (), Prefixed([b"a", b"b"], Later(b"c", b"d")), close=lambda: closed.append(1))

    assert (await answer.read(), closed) == (b"abcd", [1])


async def test_gives_what_was_read_ahead_at_once():
    """
    After a peek the first bytes leave together with the headers.
    """
    chunks = Prefixed([b"a", b"b"], Later(b"c", b"d"))

    assert (chunks.ready(), [chunk async for chunk in chunks]) == (b"ab", [b"c", b"d"])


def test_knows_when_nothing_more_will_come():
    """
    A body of ours ends with its only chunk; an unknown rest may go on.
    """
    whole, more = Prefixed([b"a"]), Prefixed([], Prefixed([b"b"]))
    before = (whole.ended, more.ended)
    whole.ready()

    assert (before, whole.ended) == ((False, False), True)


async def test_states_the_length_of_an_answer_of_ours():
    """
    So that it needs no chunks.
    """
    answer = Answer.of_bytes(413, (("a", "b"),), b"xyz")

    assert (answer.reason, answer.headers) == ("Request Entity Too Large", (("a", "b"), ("content-length", "3")))
    assert await answer.read() == b"xyz"


def test_recognises_an_event_stream():
    """
    Whatever its charset and its case.
    """
    answer = Answer(200, "OK", (("Content-Type", "Text/Event-Stream; charset=utf-8"),), Prefixed([]))

    assert answer.is_event_stream


def test_finds_the_first_header_of_a_name():
    """
    Names have no case.
    """
    assert header((("X-A", "1"), ("x-a", "2")), "x-a") == "1"
    assert header((), "x-a") is None


def test_leaves_the_reason_of_an_unknown_status_empty():
    """
    There are servers that answer 529.
    """
    assert reason_of(599) == ""


def test_splits_the_path_from_the_query():
    """
    At the first question mark.
    """
    assert Incoming("GET", "/v1/models?a=?", ()).path == "/v1/models"
