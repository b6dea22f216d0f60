"""
The sections of a summary: their order, their names by language, how they are written and found again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from proxy.chat.language import ENGLISH


class Section(StrEnum):
    """
    A section of a summary, in the order in which they are written; the three middle ones stand under Progress.
    """

    GOAL = "goal"
    CONSTRAINTS = "constraints"
    PROGRESS = "progress"
    DONE = "done"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DECISIONS = "decisions"
    RESOLVED = "resolved"
    PENDING = "pending"
    FILES = "files"
    REMAINING = "remaining"
    CRITICAL = "critical"
    TOOLS = "tools"


PROGRESS_PARTS = (Section.DONE, Section.IN_PROGRESS, Section.BLOCKED)
TOP_SECTIONS = tuple(section for section in Section if section not in PROGRESS_PARTS)

_NAMES = {
    "en": "Goal|Constraints & preferences|Progress|Done|In progress|Blocked|Key decisions|Resolved questions|Pending asks|"
    "Relevant files|Remaining work|Critical context|Tools & patterns",
    "zh": "目标|约束与偏好|进展|已完成|进行中|受阻|关键决定|已解决的问题|待处理的请求|相关文件|剩余工作|关键信息|工具与模式",
    "ja": "目標|制約と好み|進捗|完了|進行中|障害|主な決定|解決済みの質問|保留中の依頼|関連ファイル|残りの作業|重要な情報|ツールとパターン",
    "ko": "목표|제약과 선호|진행 상황|완료|진행 중|막힘|주요 결정|해결된 질문|보류 중인 요청|관련 파일|남은 작업|중요 정보|도구와 패턴",
    "ru": "Цель|Ограничения и предпочтения|Ход работы|Сделано|В работе|Заблокировано|Ключевые решения|Решённые вопросы|"
    "Ожидающие просьбы|Важные файлы|Оставшаяся работа|Важные сведения|Инструменты и приёмы",
    "de": "Ziel|Vorgaben & Vorlieben|Fortschritt|Erledigt|In Arbeit|Blockiert|Wichtige Entscheidungen|Geklärte Fragen|"
    "Offene Bitten|Relevante Dateien|Verbleibende Arbeit|Wichtige Angaben|Werkzeuge & Muster",
    "fr": "Objectif|Contraintes et préférences|Avancement|Fait|En cours|Bloqué|Décisions clés|Questions résolues|"
    "Demandes en attente|Fichiers utiles|Travail restant|Informations essentielles|Outils et méthodes",
    "es": "Objetivo|Restricciones y preferencias|Progreso|Hecho|En curso|Bloqueado|Decisiones clave|Preguntas resueltas|"
    "Peticiones pendientes|Archivos relevantes|Trabajo restante|Información crítica|Herramientas y patrones",
    "pt": "Objetivo|Restrições e preferências|Progresso|Feito|Em andamento|Bloqueado|Decisões principais|Perguntas resolvidas|"
    "Pedidos pendentes|Arquivos relevantes|Trabalho restante|Informações críticas|Ferramentas e padrões",
}
TITLES: Mapping[str, Mapping[Section, str]] = {
    language: dict(zip(Section, names.split("|"), strict=True)) for language, names in _NAMES.items()
}
_BY_TITLE = {title.casefold(): section for names in TITLES.values() for section, title in names.items()}
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]*(?P<hash>[^\n]+)|\*\*(?P<bold>[^*\n]+)\*\*:?)[ \t]*")
_DECORATION = " \t#*:：.、-–"
_NOTE = re.compile(r"[ \t]*[(（][^)）]*[)）][ \t]*$")


def title(section: Section, language: str) -> str:
    """
    Return the name of *section* in *language*, in English where we have no other.
    """
    return TITLES.get(language, TITLES[ENGLISH])[section]


def render(blocks: Mapping[Section, Sequence[str]], language: str) -> str:
    """
    Write the sections that have lines, in their order, each under its heading.
    """
    written = []
    for section in TOP_SECTIONS:
        lines = _progress(blocks, language) if section is Section.PROGRESS else list(blocks.get(section, ()))
        if lines:
            written.append("\n".join([f"## {title(section, language)}", *lines]))
    return "\n\n".join(written)


def heading_of(line: str) -> str | None:
    """
    Return the bare text of a heading line, ``None`` where *line* is none.
    """
    match = _HEADING.fullmatch(line)
    if match is None:
        return None
    return (match["hash"] or match["bold"]).strip(_DECORATION)


def section_of(line: str) -> Section | None:
    """
    Return the section that a heading line opens, whatever the language; ``None`` for any other line.
    """
    heading = heading_of(line)
    if heading is None:
        return None
    return _BY_TITLE.get(_NOTE.sub("", heading).strip(_DECORATION).casefold())


def _progress(blocks: Mapping[Section, Sequence[str]], language: str) -> list[str]:
    lines: list[str] = []
    for part in PROGRESS_PARTS:
        rows = blocks.get(part, ())
        if rows:
            lines += [f"### {title(part, language)}", *rows]
    return lines
