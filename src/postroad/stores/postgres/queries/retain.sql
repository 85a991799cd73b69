-- Forget finished work past its time.
select postroad.retain_v1($1, $2, $3)
