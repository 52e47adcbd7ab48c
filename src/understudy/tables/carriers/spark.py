"""Partitions in a Spark cluster: blobs in a persisted DataFrame, questions by
`mapInArrow`.

No RDD and no accumulator: a task that runs twice would count twice in one. Functions go
to the workers in closures, so nothing of a schema, and no salt, stands in a plan or in
an event log. What a worker raises is renamed there: a message of DuckDB or of Arrow may
quote a cell, and would reach the logs of executors and of the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar

from understudy.errors import TableError
from understudy.tables.carriers.carrier import PartChange, PartWork
from understudy.version import PACKAGE_VERSION, install_command

T = TypeVar("T")

CACHE_ROWS_SETTING = "spark.sql.inMemoryColumnarStorage.batchSize"
"""How many rows Spark keeps as one object. Java's serialisation holds on to a hundred
objects while it writes a partition to disk that does not fit in memory, and while it
reads it: with Spark's own setting these are 4 MB each, in every task, which no limit of
Spark's counts. One blob an object makes them 40 MB in all.
"""

BLOB_COLUMNS = "part int, sum long, blob binary"
"""The group of a blob; where it holds the rows of the table, their sum (row_sums.py)."""

MAX_COLLECTED_PARTS = 100
"""Partitions whose answers the driver merges itself. All pairs of 15 columns take some
megabytes a partition, and Spark refuses results of more than 1 GB.
"""

MERGE_GROUPS = 16
"""Groups of partitions whose answers workers merge, where there are more."""

ABSENT_PACKAGE_TEXT = "No module named 'understudy'"
"""What Python says in a worker that lacks this package."""

CHANGED_ROWS_TEXT = "understudy got other rows than at first"
"""What a worker says where a partition had to be read again and is another one."""

OTHER_VERSION_TEXT = "understudy has another version here"
"""What a worker says that has another version of this package than the driver."""

NOWHERE_TEXTS = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND")
UNREACHED_TEXTS = ("FileSystem not found", "No FileSystem for scheme")
"""What Spark says of a name that means nothing, and of a storage that it cannot read."""

SUM_MODULUS = 1 << 62
"""Sums of rows are taken modulo this, so that they fit a whole number of Spark's."""

PartSums = dict[int, int]
"""The sum of the rows of each partition that has any."""

_SETTING_LOCK = Lock()


class WorkerError(RuntimeError):
    """What went wrong in a worker, by its kind and never by its message."""


class SparkCarrier:
    """Blobs in a DataFrame of BLOB_COLUMNS, one or more to a partition.

    Spark reads a partition again where an executor is lost with what it kept. So the
    sums of the first reading go to every task, which refuses other rows than those: a
    row that moved meanwhile would be counted twice.
    """

    def __init__(self, frame: Any, empty: bytes, title: str) -> None:
        self._frame = frame
        self.empty = empty
        self._title = title
        self._changed: list[SparkCarrier] = []

    @cached_property
    def _sums(self) -> PartSums:
        """Found by the job that has the executors keep the blobs."""
        read = run_spark_job(self._keep_blobs, self._title)
        return _add_sums(zip(*(column.to_pylist() for column in read), strict=True))

    def _keep_blobs(self) -> Any:
        functions = import_module("pyspark.sql.functions")
        number = functions.spark_partition_id().alias("part")
        # On disk alone, where the system's own cache holds a small table. In memory Spark
        # keeps pieces of 1 MB, and in a heap below 8 GB Java's collector takes 2 MB for
        # each, so the heap is full long before Spark finds that it is.
        level = import_module("pyspark").StorageLevel.DISK_ONLY
        with _cache_singly(self._frame.sparkSession):
            self._frame.persist(level)
            return self._frame.select(number, "sum").toArrow()

    @property
    def parts(self) -> int:
        """How many partitions hold rows, one at least; found by making all of them."""
        return max(len(self._sums), 1)

    def load_rows(self) -> None:
        """Read the rows to the end and keep them with the executors."""
        _ = self._sums

    def add_up(self, work: PartWork) -> bytes:
        """Ask every partition; the answers, merged by the driver, or first by workers
        where there are many.
        """
        answers = self._frame.mapInArrow(_answer_task(work, self._sums), BLOB_COLUMNS)
        if self.parts > MAX_COLLECTED_PARTS:
            answers = answers.groupBy("part").applyInArrow(
                _merge_task(work), BLOB_COLUMNS
            )
        fetched = run_spark_job(answers.toArrow, self._title)
        return work.merge_answers(fetched.column("blob").to_pylist())

    def change_parts(self, change: PartChange, *, regroup: bool) -> SparkCarrier:
        """Partitions of changed blobs, kept with the executors."""
        task = _change_task(change, self._sums)
        changed = self._frame.mapInArrow(task, BLOB_COLUMNS)
        if regroup:
            changed = changed.repartition(self.parts, "part")
        self._changed.append(SparkCarrier(changed, self.empty, self._title))
        return self._changed[-1]

    def fetch_blobs(self) -> Iterator[bytes]:
        """Every blob, brought to the driver."""
        expected = self._sums
        functions = import_module("pyspark.sql.functions")
        number = functions.spark_partition_id().alias("part")
        chosen = self._frame.select(number, "sum", "blob")
        fetched = run_spark_job(chosen.toArrow, self._title)
        numbers = (fetched.column(name).to_pylist() for name in ("part", "sum"))
        if _add_sums(zip(*numbers, strict=True)) != expected:
            raise _refuse_changed(self._title)
        for blob in fetched.column("blob"):
            yield blob.as_py()

    def close(self) -> None:
        """Have the executors forget the blobs."""
        for carrier in self._changed:
            carrier.close()
        self._changed.clear()
        run_spark_job(self._frame.unpersist, self._title)


@contextmanager
def _cache_singly(session: Any) -> Iterator[None]:
    """Where Spark keeps each row as an object of its own; the session's own setting comes
    back.
    """
    with _SETTING_LOCK:
        before = session.conf.get(CACHE_ROWS_SETTING, None)
        session.conf.set(CACHE_ROWS_SETTING, "1")
        try:
            yield
        finally:
            if before is None:
                session.conf.unset(CACHE_ROWS_SETTING)
            else:
                session.conf.set(CACHE_ROWS_SETTING, before)


def _add_sums(numbered: Iterable[tuple[int, int]]) -> PartSums:
    sums: PartSums = {}
    for part, row_sum in numbered:
        sums[part] = (sums.get(part, 0) + row_sum) % SUM_MODULUS
    return sums


def run_spark_job(run: Callable[[], T], title: str) -> T:
    """What Spark answers. Its messages hold the tracebacks of workers, which may quote a
    cell, so none is repeated.
    """
    try:
        return run()
    except TableError:
        raise
    except Exception as error:
        failed = type(error).__name__
        is_absent = ABSENT_PACKAGE_TEXT in str(error)
        is_changed = CHANGED_ROWS_TEXT in str(error)
        is_other = OTHER_VERSION_TEXT in str(error)
        is_nowhere = any(text in str(error) for text in NOWHERE_TEXTS)
        is_unreached = any(text in str(error) for text in UNREACHED_TEXTS)
    if is_other:
        raise TableError(
            f"{title}: Spark's workers have another version of this package than"
            f" {PACKAGE_VERSION}, and might read a cell in another way. Install this one"
            " there. Nothing was read"
        )
    if is_changed:
        raise _refuse_changed(title)
    if is_absent:
        raise TableError(
            f"{title}: Spark's workers lack this package, which counts where the rows are."
            f" There: {install_command('spark')}; or give frame.toArrow(), which"
            " brings the rows here. Nothing was read"
        )
    if is_nowhere:
        raise TableError(
            f"{title}: Spark finds no such table or path. Nothing was read"
        )
    if is_unreached:
        raise TableError(
            f"{title}: Spark lacks the library that reads this storage. Start it with the"
            " one that it names in its log (spark.jars.packages). Nothing was read"
        )
    raise TableError(
        f"{title}: the Spark job did not work ({failed}). Spark's own log says why; a"
        " table beyond spark.driver.maxResultSize needs a larger one. Nothing was read"
    )


def _refuse_changed(title: str) -> TableError:
    return TableError(
        f"{title}: a part of the rows had to be read again, and was not what it was at"
        " first. Write the rows to a table that stays as it is, and give that. Nothing"
        " more was read"
    )


def run_renamed(work: Callable[[], T]) -> T:
    """What a worker makes. Its errors keep their kind and lose their message."""
    failed = ""
    try:
        return work()
    except Exception as error:
        failed = type(error).__name__
    # Outside the handler: a chained exception would carry the message into logs.
    raise WorkerError(f"understudy did not finish a partition ({failed})")


def make_version_check() -> Callable[[], None]:
    """What a worker calls first: it refuses a task that another version made."""
    made_by = PACKAGE_VERSION
    return lambda: refuse_version(made_by)


def refuse_version(made_by: str) -> None:
    """Refuse what another version than the one here made."""
    if made_by != PACKAGE_VERSION:
        raise WorkerError(OTHER_VERSION_TEXT)


def make_blob_batch(part: int, blob: bytes, row_sum: int = 0) -> Any:
    """A blob as Spark takes it."""
    pa = import_module("pyarrow")
    columns = [
        pa.array([part], pa.int32()),
        pa.array([row_sum], pa.int64()),
        pa.array([blob], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["part", "sum", "blob"])


class CheckedBlobs:
    """The blobs of a partition, and whether they are those of the first reading."""

    def __init__(self, batches: Iterable[Any], sums: PartSums) -> None:
        self._batches = batches
        self._sums = sums
        self._total = 0
        self._blobs = self._iterate_blobs()

    def __iter__(self) -> Iterator[bytes]:
        return self._blobs

    def _iterate_blobs(self) -> Iterator[bytes]:
        for batch in self._batches:
            names = batch.schema.names
            self._total += sum(batch.column(names.index("sum")).to_pylist())
            for blob in batch.column(names.index("blob")):
                yield blob.as_py()

    def check(self) -> None:
        """Refuse other rows, once all were read."""
        for _ in self._blobs:
            pass
        if self._total % SUM_MODULUS != self._sums.get(_number_part(), 0):
            raise WorkerError(CHANGED_ROWS_TEXT)


def _number_part() -> int:
    context = import_module("pyspark").TaskContext.get()
    return int(context.partitionId())


def _answer_task(
    work: PartWork, sums: PartSums
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    check_version = make_version_check()

    def answer(batches: Iterable[Any]) -> Iterator[Any]:
        check_version()
        blobs = CheckedBlobs(batches, sums)
        packed = run_renamed(lambda: work.answer_part(blobs))
        blobs.check()
        yield make_blob_batch(_number_part() % MERGE_GROUPS, packed)

    return answer


def _merge_task(work: PartWork) -> Callable[[Any], Any]:
    def merge(answers: Any) -> Any:
        packed = answers.column("blob").to_pylist()
        merged = run_renamed(lambda: work.merge_answers(packed))
        pa = import_module("pyarrow")
        return pa.Table.from_batches([make_blob_batch(0, merged)])

    return merge


def _change_task(
    change: PartChange, sums: PartSums
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    check_version = make_version_check()

    def change_part(batches: Iterable[Any]) -> Iterator[Any]:
        check_version()
        blobs = CheckedBlobs(batches, sums)
        changed = iter(change.change_part(blobs))
        while (made := run_renamed(lambda: next(changed, None))) is not None:
            yield make_blob_batch(*made)
        blobs.check()

    return change_part
