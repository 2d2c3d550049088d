"""Operations on diagrams: content, pictures and BPMN documents."""
