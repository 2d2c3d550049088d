-- Run once as a superuser: psql -f postgresql.sql. It asks for the passwords of the two roles.
-- For scripts: psql -v password=... -v backup_password=... -f postgresql.sql
-- It stops if a role or the database already exists, and changes neither.
\set ON_ERROR_STOP on
CREATE ROLE repository LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
-- Statements of the service are short: to compile one would take longer than to run it.
ALTER ROLE repository SET jit = off;
-- For pg_dump only: this role can read all tenants at once. Never give it to the service.
CREATE ROLE repository_backup LOGIN BYPASSRLS NOSUPERUSER;
GRANT pg_read_all_data TO repository_backup;
CREATE DATABASE repository OWNER repository ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE repository FROM PUBLIC;
GRANT CONNECT ON DATABASE repository TO repository_backup;
\if :{?password}
    ALTER ROLE repository PASSWORD :'password';
    ALTER ROLE repository_backup PASSWORD :'backup_password';
\else
    \echo 'If the two inputs differ, set the passwords in psql: \\password repository and \\password repository_backup'
    \echo The role repository, of the service:
    \password repository
    \echo The role repository_backup, of pg_dump:
    \password repository_backup
\endif
