"""Notices: typed, collected around a call, and no business of other runs."""

from __future__ import annotations

import threading

from understudy.notices import Notice, NoticeKind, collect_notices, post_notice

TOO_LARGE = Notice(NoticeKind.TOO_LARGE, "Not modelled together: a × b.", ("a", "b"))
RESUMED = Notice(NoticeKind.RESUMED, "Taken up again.")


def test_a_notice_goes_to_the_innermost_collector_alone() -> None:
    outer: list[Notice] = []
    inner: list[Notice] = []
    with collect_notices(outer.append):
        with collect_notices(inner.append):
            post_notice(TOO_LARGE)
        post_notice(RESUMED)
    post_notice(RESUMED)  # nobody collects: it is dropped
    assert (outer, inner) == ([RESUMED], [TOO_LARGE])


def test_runs_in_other_threads_keep_their_notices_apart() -> None:
    here: list[Notice] = []
    there: list[Notice] = []

    def run() -> None:
        with collect_notices(there.append):
            post_notice(TOO_LARGE)

    with collect_notices(here.append):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        post_notice(RESUMED)
    assert (here, there) == ([RESUMED], [TOO_LARGE])


def test_what_is_about_the_custodian_s_files_is_not_for_readers() -> None:
    kept = {kind for kind in NoticeKind if Notice(kind, "").is_for_readers}
    assert kept == {NoticeKind.TOO_LARGE, NoticeKind.MISCOUNTED, NoticeKind.STATED}
