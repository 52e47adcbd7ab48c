"""Runs in a Python of its own that has diffprivlib: one job from stdin, as JSON, results
to stdout.

pip install diffprivlib==0.6.6 "scikit-learn<1.6" "scipy<1.15"    newer ones end in errors
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def fit_regression(job: dict) -> list[list[float]]:
    from diffprivlib.models import LinearRegression

    x, y = np.array(job["x"]), np.array(job["y"])
    low, high = np.array(job["bounds_x"]).T
    found = []
    for _ in range(job["runs"]):
        model = LinearRegression(
            epsilon=job["epsilon"],
            bounds_X=(low, high),
            bounds_y=tuple(job["bounds_y"]),
        )
        model.fit(x, y)
        found.append([float(model.intercept_), *map(float, model.coef_)])
    return found


def find_clusters(job: dict) -> list[list[list[float]]]:
    from diffprivlib.models import KMeans

    x = np.array(job["x"])
    low, high = np.array(job["bounds_x"]).T
    found = []
    for _ in range(job["runs"]):
        model = KMeans(job["clusters"], epsilon=job["epsilon"], bounds=(low, high))
        model.fit(x)
        found.append(np.asarray(model.cluster_centers_).tolist())
    return found


def find_medians(job: dict) -> list[float]:
    from diffprivlib.tools import median

    x = np.array(job["x"])
    bounds = tuple(job["bounds"])
    return [
        float(median(x, epsilon=job["epsilon"], bounds=bounds))
        for _ in range(job["runs"])
    ]


TASKS = {
    "regression": fit_regression,
    "clusters": find_clusters,
    "medians": find_medians,
}

if __name__ == "__main__":
    job = json.load(sys.stdin)
    print(json.dumps(TASKS[job["task"]](job)))
