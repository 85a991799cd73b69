-- Give back all lanes of an owner but these.
select postroad.disown_v1($1, $2)
