-- Due messages of rungs after their cursors.
select * from postroad.fetch_v1($1, $2, $3, $4)
