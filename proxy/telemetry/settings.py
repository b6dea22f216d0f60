"""
The base of every settings model.
"""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """
    A frozen group of settings; an unknown key is a mistake, never ignored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
