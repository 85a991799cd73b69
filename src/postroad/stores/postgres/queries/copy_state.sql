-- How far each table of a copy is, and what the source held when it began.
select name, rows, source from postroad.copying
