"""Tests of the studio: a real server, and a real browser where a person would use one."""
