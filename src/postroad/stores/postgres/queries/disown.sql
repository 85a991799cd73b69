-- Give back all lanes of an owner but these.
select postroad.disown($1, $2)
