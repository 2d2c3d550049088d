"""Tests of BPMN documents."""
