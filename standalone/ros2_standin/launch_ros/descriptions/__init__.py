"""Descriptions of parameters, under their second name."""

from launch._support import missing_attribute

from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

__getattr__ = missing_attribute(__name__)
__all__ = ["Parameter", "ParameterFile", "ParameterValue"]
