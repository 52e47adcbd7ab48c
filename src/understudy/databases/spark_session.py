"""The Spark session of this process, made from Spark's own settings where there is none."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from understudy.errors import TableError
from understudy.version import install_command


def find_spark_session(title: str, outcome: str) -> Any:
    """The active session, or a new one as `spark-defaults.conf` and SPARK_REMOTE say."""
    failed = ""
    try:
        sql = import_module("pyspark.sql")
        return sql.SparkSession.builder.getOrCreate()
    except ImportError:
        failed = f"needs Spark, which is not here: {install_command('spark')}"
    except Exception:
        failed = (
            "Spark does not start. Run understudy doctor, and check Spark's settings"
        )
    raise TableError(f"{title}: {failed}. {outcome}")
